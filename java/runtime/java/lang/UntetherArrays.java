package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Where arrays keep their length and elements. Measured, as the layout differs between JDKs and flags,
 * and as the type of {@code Unsafe}'s own constants differs between JDKs.
 */
final class UntetherArrays {
    private static final Unsafe U = Untether.U;
    private static final int MAGIC = 0x5a17;

    static final long LENGTH = lengthOffset();
    private static final long NARROW_BASE = narrowBase();
    private static final long WIDE_BASE = wideBase();
    private static final int REFERENCE_SCALE = U.arrayIndexScale(Object[].class);

    private UntetherArrays() {}

    private static long lengthOffset() {
        byte[] array = new byte[MAGIC];
        long offset = 8;
        while (U.getInt(array, offset) != MAGIC) {
            offset += 4;
        }
        return offset;
    }

    private static long narrowBase() {
        int[] array = {MAGIC};
        long offset = LENGTH + 4;
        while (U.getInt(array, offset) != MAGIC) {
            offset += 4;
        }
        return offset;
    }

    private static long wideBase() {
        long[] array = {((long) MAGIC << 32) | MAGIC};
        long offset = (LENGTH + 4 + 7) & ~7L;
        while (U.getLong(array, offset) != array[0]) {
            offset += 8;
        }
        return offset;
    }

    static int length(Object array) {
        return U.getInt(array, LENGTH);
    }

    /** The first character of the descriptor of a primitive array's elements. */
    static char typeOf(Object array) {
        if (array instanceof byte[]) {
            return 'B';
        } else if (array instanceof char[]) {
            return 'C';
        } else if (array instanceof int[]) {
            return 'I';
        } else if (array instanceof long[]) {
            return 'J';
        } else if (array instanceof double[]) {
            return 'D';
        } else if (array instanceof float[]) {
            return 'F';
        } else if (array instanceof short[]) {
            return 'S';
        }
        return 'Z';
    }

    /** The offset of the first element; {@code type} is the element descriptor's first character. */
    static long base(char type) {
        return scale(type) == 8 ? WIDE_BASE : NARROW_BASE;
    }

    static int scale(char type) {
        switch (type) {
            case 'J':
            case 'D':
                return 8;
            case 'I':
            case 'F':
                return 4;
            case 'S':
            case 'C':
                return 2;
            case 'B':
            case 'Z':
                return 1;
            default:
                return REFERENCE_SCALE;
        }
    }
}
