// What packages of npm make of ids: one JSON object a line, in and out.
const { createInterface } = require('node:readline')
const { Snowflake } = require('@sapphire/snowflake')
const uuid = require('uuid')

const operations = {
  snowflake({ id, epoch_ms }) {
    const fields = new Snowflake(BigInt(epoch_ms)).deconstruct(BigInt(id))
    // Its node id is in two parts.
    return [Number(fields.timestamp), Number(fields.workerId << 5n | fields.processId), Number(fields.increment)]
  },
  uuid({ text }) {
    const bytes = uuid.parse(text)
    return [uuid.version(text), uuid.validate(text), uuid.stringify(bytes), Buffer.from(bytes).toString('hex')]
  },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line)
  console.log(JSON.stringify(operations[request.package](request)))
})
