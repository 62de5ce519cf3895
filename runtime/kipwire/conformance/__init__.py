"""Conformance: messages as bytes with what they mean, to test implementations of a protocol in any language.

A `Vector` is one question with its answer: bytes of a message, and its JSON form, or that they must be refused.

* `vectors`: vectors as JSON lines, in a folder with a file for each message.
* `writing`: values to bytes by the plan of a class. It shares nothing with generated code and the kernel, which the
  vectors judge; the tracer, `kipwire.description.trace`, reads what it writes.
* `field_values`, `building`: which values a field is tried with, and the messages around them.
* `damage`: the ways to damage bytes, and what a reader makes of each.
* `deriving`: all vectors of a message in one version, in a fixed order.
* `kafka`: what is shipped of the bytes that Kafka's Java classes made: messages, frames, record batches; KIP-625.
* `coverage`: which cases each field of each version has.

`kipgen vectors` writes them; `kipwire conform` asks a program.

To add a vector: `field_values.py` has the values that a field is tried with, `damage.py` the damages with the verdict
on each, `coverage.py` what every field must have. A damage changes one thing, so that its effect does not depend on
what is around it; `make test-maven` asks Kafka's Java classes, which must agree. An adapter of another library is a
program of `conformance/` at the top of the repository and a row of `LIBRARIES` in `run.py` there; `make conformance`
writes docs/conformance.md.
"""
