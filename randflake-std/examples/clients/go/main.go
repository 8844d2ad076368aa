// Ids from `randflake serve` with go-redis: one at a time, and in batches.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"
)

func env(name, otherwise string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	return otherwise
}

func main() {
	ctx := context.Background()
	server := redis.NewClient(&redis.Options{
		Addr:     env("RANDFLAKE_HOST", "127.0.0.1") + ":" + env("RANDFLAKE_RESP_PORT", "6380"),
		Password: os.Getenv("RANDFLAKE_TOKEN"),
		// TLSConfig: &tls.Config{RootCAs: roots},
	})
	defer server.Close()
	namespace := env("RANDFLAKE_NAMESPACE", "default")

	// One id, as an int64, which is what a bigint column takes.
	id, err := server.Incr(ctx, namespace).Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)

	// A thousand in one request: as text, as in URLs, unless FORMAT says otherwise.
	texts, err := server.Do(ctx, "ID.NEXT", namespace, "COUNT", 1000).StringSlice()
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range texts {
		fmt.Println(text)
	}
}
