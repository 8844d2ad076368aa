//! `proof`: the rules of leases, proved for all numbers by a solver, and compared with the shipped
//! functions.

use crate::helpers::prelude::*;

/// Wheels of the solver for Linux and macOS.
const Z3: &str = "z3-solver==5.4.1.0 \
--hash=sha256:e680ce083683abca5d07c3e55c2f620ff9a29cb91c548eeeea27ae29e8060522 \
--hash=sha256:f056cb9714bb7c56ad7d25d86786b5a42c8a3c80e68b11f39af5f469b5366395 \
--hash=sha256:9518a4cb03f49a38d4b1895b80910a12e0b0d144300472b95562426657396e01";
/// A wheel for each version of Python that numpy supports, on the same systems.
const NUMPY_HASHES: &str = "\
--hash=sha256:89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93 \
--hash=sha256:0ab0a9c4ffb1a6d95ef519fe4247dba8eb6b18ad93999f76b7f657039acabd47 \
--hash=sha256:4cfe66903cc32a9921a6733d96b19bb6abf310397581bbad89c228f5abaf0ee8 \
--hash=sha256:90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853 \
--hash=sha256:5f9fb9157b4ce2971008323afe46053787b526ef624fea915b261468a8421a0f \
--hash=sha256:3213d622a0283a39a93d188f3cf72b26862df52fbb4ca3697f51705016523d41 \
--hash=sha256:a7830bab239b79cda9c08c2da014761cafb48da6150e1da17ac06283f43b6089 \
--hash=sha256:72fbe16c6fac95aedf5937fa873445cec2110be35d8a4e9433d7501fd98dae6b \
--hash=sha256:043191bfa8eab18c776647b62723ac9dddece59743b13f49b2016094129c2b3f \
--hash=sha256:a2c306dea656c12c68f51f4cea133cbe78ca7435eb28c735eac1d3ebe73be6e8 \
--hash=sha256:40fdc1ae7125e518ea98e53e69a4ebc27e1fd50510c47b7ea130cf21e5e1d42b \
--hash=sha256:d581b735e177fdcdce6fed8e7e8880a3fb6ee4e3653a3ac6af01c6f4c03effc5";
/// Views that are compared: some seconds, optimised.
const VIEWS: u32 = 1_000_000;

pub(crate) fn needs() -> Vec<Need> {
    vec![Need::Tool(&PYTHON)]
}

pub(crate) fn run(report: &mut Report) {
    let numpy = format!("{NUMPY} {NUMPY_HASHES}");
    let Some(venv) = Venv::with(report, "proof", "solver", &[Z3, &numpy]) else {
        return;
    };
    // Without `-B` it would leave compiled files in the tree.
    let mut prove = program(venv.program("python"), "-B randflake-std/lease/proof");
    let rows = test_of_rules("rule_rows");
    prove
        .arg(VIEWS.to_string())
        .arg(rows.get_program())
        .args(rows.get_args());
    // As `test_of_rules` runs cargo.
    prove.envs(
        rows.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    report.check("proof", &mut prove);
}
