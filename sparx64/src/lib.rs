//! The SPARX-64/128 block cipher.
#![no_std]
