import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;

/**
 * Prints byte strings that are not UTF-8, and the text that Java makes of each: new String(bytes, UTF_8), as in
 * Kafka's Utils.utf8. A line is the bytes in hex, a space, and the UTF-8 of the text in hex, with _ for each U+FFFD.
 */
public final class MalformedUtf8 {
    /** First and last bytes of the ranges that decoders distinguish. */
    private static final byte[] BYTES = HexFormat.of().parseHex("417f808f909fa0bfc0c1c2dfe0e1ecedeff0f1f4f5f8ff");
    /** Fewer of them. */
    private static final byte[] FEW = HexFormat.of().parseHex("41808f909fa0bfc2e0edf0f4f5");
    private static final StringBuilder OUT = new StringBuilder();

    public static void main(String[] arguments) {
        byte[] all = new byte[256];
        for (int one = 0; one < all.length; one++) all[one] = (byte) one;
        printAll(new byte[1], 0, all);
        printAll(new byte[2], 0, all);
        printAll(new byte[3], 0, BYTES);
        printAll(new byte[4], 0, FEW);
        Random random = new Random(82);
        for (int number = 0; number < 3000; number++) {
            byte[] some = new byte[5 + random.nextInt(12)];
            for (int at = 0; at < some.length; at++) some[at] = BYTES[random.nextInt(BYTES.length)];
            print(some);
        }
        System.out.print(OUT);
    }

    private static void printAll(byte[] some, int at, byte[] alphabet) {
        if (at == some.length) {
            print(some);
            return;
        }
        for (byte one : alphabet) {
            some[at] = one;
            printAll(some, at + 1, alphabet);
        }
    }

    private static void print(byte[] some) {
        String text = new String(some, StandardCharsets.UTF_8);
        if (text.indexOf('\ufffd') < 0) return;
        OUT.append(HexFormat.of().formatHex(some)).append(' ');
        text.codePoints().forEach(one -> OUT.append(one == 0xfffd ? "_" : hexOf(one)));
        OUT.append('\n');
    }

    private static String hexOf(int character) {
        return HexFormat.of().formatHex(Character.toString(character).getBytes(StandardCharsets.UTF_8));
    }
}
