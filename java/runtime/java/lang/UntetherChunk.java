package java.lang;

/**
 * Up to 64 cells of a primitive array that is too long to be kept by element: one record, with a bit for each cell.
 *
 * <p>A cell is one element, or several of a very long array. What a test wrote itself before it reads it, and whose value it
 * reads otherwise, is known by cell; only the record, and so the name, is common to them.
 */
final class UntetherChunk extends UntetherSlot {
    static final int CELLS = 64;

    /** Cells that {@link #pendingWriter} has surely written in its segment, each as a whole. */
    long written;

    /** Cells that {@link #readActor} has read in its segment, and that were told. */
    long read;

    /** The epochs in which the two hold for whoever comes. */
    int writeEpoch;
    int readEpoch;

    /** Whose value stands in each cell, where that is not {@link #writer} for all. Never changed in place. */
    int[] writers;

    private int[] classOldWriters;

    UntetherChunk(UntetherObject owner, long place, char type, UntetherSlot next) {
        super(owner, place, type, next);
    }

    /** Whether nothing has to be told of this access. */
    boolean isKnown(long cells, int epoch, boolean isWrite) {
        if (isWrite) {
            if (writeEpoch == epoch) {
                written |= cells;
                return true;
            }
            return false;
        }
        long known = (readEpoch == epoch ? read : 0) | (writeEpoch == epoch ? written : 0);
        return (cells & ~known) == 0;
    }

    int writerOf(int cell) {
        int[] each = writers;
        return each == null ? writer : each[cell];
    }

    @Override
    void wrote(long cells, boolean isFirst) {
        written = isFirst ? cells : written | cells;
    }

    /** The cells that changed are the writer's now, and the others whose they were. */
    @Override
    void tookOver(Object array, int before) {
        long changed = UntetherValues.changedCells(array, this, oldSaved);
        if (writers == null && (before == writer || changed == UntetherValues.allCells(array, this))) {
            return;
        }
        int[] each = new int[CELLS];
        boolean isCommon = true;
        for (int cell = 0; cell < CELLS; cell++) {
            boolean isOld = (changed >>> cell & 1) == 0;
            each[cell] = isOld ? writers == null ? before : writers[cell] : writer;
            isCommon &= each[cell] == writer;
        }
        writers = isCommon ? null : each;
    }

    @Override
    boolean isOfAnother(int actor) {
        if (writers == null) {
            return super.isOfAnother(actor);
        }
        // Where only parts of cells were written, it is not known of which.
        long mask = written == 0 ? -1L : written;
        for (int cell = 0; cell < CELLS; cell++) {
            if ((mask >>> cell & 1) != 0 && UntetherActors.isUnit(writers[cell]) && writers[cell] != actor) {
                return true;
            }
        }
        return false;
    }

    @Override
    int[] cellWriters() {
        return writers;
    }

    @Override
    void setCellWriters(int[] each) {
        writers = each;
    }

    @Override
    void noteWriters() {
        super.noteWriters();
        classOldWriters = writers;
    }

    @Override
    void restoreWriters() {
        super.restoreWriters();
        writers = classOldWriters;
    }
}
