//! Nothing: the features in the manifest are all.
#![no_std]
