"""Messages with numbered headers, as version 43 of KIP-82 proposed them: magic 2 before Kafka had its own.

    ProducerRecord, ConsumerRecord          a record whose headers are set, and one that was read
    Headers, MutableHeaders                 the map from numbers to bytes
    Serializer, HeaderSerializers           values by the functions of each key's owner
    read_records(data), write_records(...)  the records of a buffer of magic 0, 1 and 2; the bytes of records
    find_header(data, key)                  one header in the bytes of a message, without reading the rest
    to_magic_2(data)                        older messages in this format

What Kafka released has texts for keys: that is `kipwire.records`. The guide is docs/record-formats.md.
"""

from kipwire.drafts.kip_82.headers import Headers, MutableHeaders
from kipwire.drafts.kip_82.lookup import find_header, find_header_in_section, headers_up_to
from kipwire.drafts.kip_82.model import ConsumerRecord, ProducerRecord
from kipwire.drafts.kip_82.reading import headers_of, read_records
from kipwire.drafts.kip_82.serializers import HeaderSerializers, HeaderValueError, Serializer
from kipwire.drafts.kip_82.writing import to_magic_2, write_records

__all__ = [
    "ConsumerRecord",
    "HeaderSerializers",
    "HeaderValueError",
    "Headers",
    "MutableHeaders",
    "ProducerRecord",
    "Serializer",
    "find_header",
    "find_header_in_section",
    "headers_of",
    "headers_up_to",
    "read_records",
    "to_magic_2",
    "write_records",
]
