# cython: language_level=3
"""The checksums of record formats: eight bytes a step by tables, CRC-32C by the processor where it can do so."""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* By algorithm, and by how many bytes of zeros follow it: what a byte does to the checksum. */
    static uint32_t kip_crc_tables[2][8][256];
    static int kip_crc_has_instruction = 0;
    static int kip_crc_is_known[2];

    #if defined(__x86_64__) && defined(__GNUC__)
    #define KIP_CRC_INSTRUCTION 1
    /* Three streams at once would be faster still; this is not the slowest part of a batch any more. */
    __attribute__((target("sse4.2")))
    static uint32_t kip_crc32c_by_instruction(const uint8_t* p, Py_ssize_t size) {
        uint64_t crc = 0xFFFFFFFF, word;
        for (; size >= 8; size -= 8, p += 8) {
            memcpy(&word, p, 8);
            crc = __builtin_ia32_crc32di(crc, word);
        }
        for (; size > 0; size--) crc = __builtin_ia32_crc32qi((uint32_t)crc, *p++);
        return ~(uint32_t)crc;
    }
    #endif

    static void kip_init_crc(int castagnoli) {
        uint32_t (*tables)[256] = kip_crc_tables[castagnoli];
        uint32_t polynomial = castagnoli ? 0x82F63B78 : 0xEDB88320, crc;
        if (kip_crc_is_known[castagnoli]) return;  /* and may be in use */
        for (int byte = 0; byte < 256; byte++) {
            crc = byte;
            for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
            tables[0][byte] = crc;
        }
        for (int zeros = 1; zeros < 8; zeros++)
            for (int byte = 0; byte < 256; byte++)
                tables[zeros][byte] = tables[zeros - 1][byte] >> 8 ^ tables[0][tables[zeros - 1][byte] & 0xFF];
    #ifdef KIP_CRC_INSTRUCTION
        if (castagnoli) {
            __builtin_cpu_init();
            kip_crc_has_instruction = __builtin_cpu_supports("sse4.2");
        }
    #endif
        kip_crc_is_known[castagnoli] = 1;
    }

    static uint32_t kip_crc(int castagnoli, const uint8_t* p, Py_ssize_t size) {
        uint32_t (*tables)[256] = kip_crc_tables[castagnoli];
        uint32_t crc = 0xFFFFFFFF;
    #ifdef KIP_CRC_INSTRUCTION
        if (castagnoli && kip_crc_has_instruction) return kip_crc32c_by_instruction(p, size);
    #endif
        for (; size >= 8; size -= 8, p += 8) {
            crc ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
            crc = tables[7][crc & 0xFF] ^ tables[6][crc >> 8 & 0xFF] ^ tables[5][crc >> 16 & 0xFF]
                ^ tables[4][crc >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
        }
        for (; size > 0; size--) crc = crc >> 8 ^ tables[0][(crc ^ *p++) & 0xFF];
        return ~crc;
    }
    """
    # What `checksum` needs of an algorithm; to be called before it, by one thread at a time.
    void init_checksum "kip_init_crc"(bint castagnoli)
    # CRC-32C (Castagnoli), or CRC-32 as in zlib.
    uint32_t checksum "kip_crc"(bint castagnoli, const uint8_t* data, Py_ssize_t size)
