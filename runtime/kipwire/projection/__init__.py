"""Chosen fields of a message: read without making an object of the rest, and replaced with all other bytes copied.

    >>> from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
    >>> from kipwire.projection import Projection
    >>> addresses = Projection(MetadataResponse, "brokers.host", "brokers.port")
    >>> data = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="kafka-1", port=9092)]).encode()
    >>> addresses.decode(data)
    (['kafka-1'], [9092])
    >>> moved = addresses.replace(data, (["proxy"], [19092]))
    >>> MetadataResponse.decode(moved).brokers[0].host
    'proxy'

All bytes are checked as strictly as by `decode`. See docs/projection.md.
"""

# Theory. A projection is a class, some paths, and one equation for each direction:
#
#     decode(data)           ==  the chosen values of cls.decode(data)
#     replace(data, values)  ==  cls.decode(data), with the values set, .encode()
#
# Everything follows from these. Errors, limits and the shapes of values are defined by decoding and encoding; a
# projection may be faster, but never has an answer of its own. `python_engine` is the equations themselves as code. The
# kernel's is the other engine: it goes through the bytes once and makes objects of chosen values alone. Tests compare
# both on every class, with damaged bytes and with wrong values, such as
# `test_kernel_and_python_agree_on_chosen_fields_of_every_class`.
#
# From paths to values:
#
# 1. `paths.steps_to` checks a path against the `ATTRIBUTES` of the classes on its way: a tuple of `PathStep`s. A path
#    that leads nowhere is an error when the projection is made, not when it is used.
# 2. `paths.selection_of` makes a tree of all paths: a dict for each struct on the way, a path's number at its end. A
#    path twice, or one within what another chooses, is refused; so a value has one place in the result, and a byte of
#    the message is replaced at most once.
# 3. `one_version.projector` asks the kernel for a `Projector` of class and tree. The kernel makes a program from the
#    plan of the class (`kipwire.description.plan`): what it meets in the order of the bytes, chosen or not. It is None
#    without a kernel, for a class of one's own that decodes or encodes in its own way, and where the kernel raises
#    `NotServed`, such as for more fields than fit on its stack.
# 4. Each call asks the projector first. None means that the kernel leaves these bytes or values to Python: they are
#    wrong, or unusual. Then `python_engine` does the same again from the start, and raises the error with its path, or
#    gives the answer. So there is one text of each error, and the kernel needs none.
#
# What holds, and must go on to hold:
#
# * All bytes are checked, chosen or not, as strictly as by decoding: a projection never accepts what `decode` refuses
#   (`test_projections_refuse_what_decode_refuses_with_the_same_error`).
# * There is one list for each array on the way, and None in place of all that is in a null
#   (`test_each_array_on_the_way_gives_a_list`, `test_a_null_array_on_the_way_gives_none`). `replace` takes the same
#   shape, and lengths must agree: it changes values, never the number of elements.
# * Bytes that were not chosen are copied, and only what encoding would drop is dropped: a tagged field that was spelt
#   out at its default (`test_a_default_that_was_spelt_out_is_dropped_as_by_encoding`). Lengths and counts around a
#   new value are written anew, since they may need more bytes.
# * A projection does not change after it is made, and keeps nothing of a message, so threads share it.
#
# Around this, `versions.VersionedProjection` has one projection for each version that it has met, and None for a field
# that a version lacks; replacing such a field takes None alone. `frames` finds the body in a frame by the header, and
# the class of a response by the request that it answers; `kipwire.connection` events and proxies use it. Neither
# depends on an engine.
#
# A new way of choosing, such as elements by their number, belongs into the steps and the tree, into `python_engine`,
# and only then into the kernel: until the kernel supports it, `projector` must return None.

from kipwire.projection.one_version import Projection
from kipwire.projection.paths import ProjectionError
from kipwire.projection.versions import VersionedProjection

__all__ = ["Projection", "ProjectionError", "VersionedProjection"]
