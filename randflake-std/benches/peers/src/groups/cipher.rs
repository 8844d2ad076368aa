//! Cost of a block, alone and in a slice of 1,024.

use std::hint::black_box;

use sparx::sparx64 as other;
use sparx64::Backend;

use super::peer;
use crate::measure::{Case, time};
use crate::ours::{KEY, WHO, cipher};

const GROUP: &str = "cipher";
const LENGTH: u64 = 1_024;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new(GROUP, "one block, each after another", WHO, |n| {
            let cipher = black_box(cipher());
            let mut block = 1;
            time(n, || block = cipher.encrypt_u64(block))
        }),
        Case::new(GROUP, "one block", WHO, |n| {
            let cipher = black_box(cipher());
            time(n, || cipher.encrypt_u64(black_box(1)))
        }),
        Case::new(GROUP, "one block, each after another", peer("sparx"), |n| {
            let schedule = black_box(other::key_schedule_encrypt(&KEY));
            let mut block = [1; 8];
            time(n, || other::encrypt_block(&mut block, &schedule))
        }),
        Case::new(GROUP, "one block", peer("sparx"), |n| {
            let schedule = black_box(other::key_schedule_encrypt(&KEY));
            time(n, || {
                let mut block = black_box([1; 8]);
                other::encrypt_block(&mut block, &schedule);
                block
            })
        }),
    ];
    for backend in Backend::available() {
        let name = format!("1,024 blocks, {backend}");
        let mut blocks = vec![1_u64; 1_024];
        cases.push(
            Case::new(GROUP, name, WHO, move |n| {
                let cipher = black_box(cipher());
                time(n / LENGTH, || {
                    cipher.encrypt_blocks_with(backend, black_box(&mut blocks[..]));
                })
            })
            .unit(LENGTH),
        );
    }
    let mut blocks = vec![[1_u8; 8]; 1_024];
    cases.push(
        Case::new(GROUP, "1,024 blocks", peer("sparx"), move |n| {
            let schedule = black_box(other::key_schedule_encrypt(&KEY));
            time(n / LENGTH, || {
                for block in black_box(&mut blocks[..]) {
                    other::encrypt_block(block, &schedule);
                }
            })
        })
        .unit(LENGTH),
    );
    cases
}
