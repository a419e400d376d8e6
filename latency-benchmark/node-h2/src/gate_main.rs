//! The program that counts for `--gate`.

node_kit::gate_program!(h2_node::gate::run);
