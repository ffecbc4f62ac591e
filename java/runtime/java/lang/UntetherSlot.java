package java.lang;

/** One place that can hold state: a field of a shared object, a static field, an element or a chunk of an array. */
class UntetherSlot {
    final UntetherObject owner;

    /** The offset of a field, or the number of an array's chunk. */
    final long place;

    /** The descriptor's first character: what kind of value stands here. */
    final char type;

    UntetherSlot next;

    /** The number under which the trace knows this slot, 0 until first named. */
    int number;

    /** The actor whose value stands here since its segment ended. */
    int writer;

    int readSegment;
    int readActor;
    boolean readEmpty;

    int writeSegment;
    int pendingWriter;
    int writeStack;
    boolean isLazy;
    Object oldSaved;
    long oldBits;

    /** The stretch in which {@link UntetherUndo} noted what stood here. */
    int window;

    /** Whether the trace knows which element of a collection this is. */
    boolean isNamed;

    /** The class run in which {@link #classOldSaved} and its companions were noted. */
    int classRun;
    int classOldWriter;
    Object classOldSaved;
    long classOldBits;

    UntetherSlot(UntetherObject owner, long place, char type, UntetherSlot next) {
        this.owner = owner;
        this.place = place;
        this.type = type;
        this.next = next;
        this.writer = owner.writer;
    }

    boolean isReference() {
        return type == 'L' || type == '[';
    }

    /** Cells of a {@link UntetherChunk} are written, for the first time in a segment or once more. */
    void wrote(long cells, boolean isFirst) {}

    /** The segment's writer has become the slot's, after {@code before}. */
    void tookOver(Object object, int before) {}

    /** Whether the value that stands here, and was written again, is that of another test. */
    boolean isOfAnother(int actor) {
        return UntetherActors.isUnit(writer) && writer != actor;
    }

    /** Whose value stands in each cell of a {@link UntetherChunk}; null where that is the same for all. */
    int[] cellWriters() {
        return null;
    }

    void setCellWriters(int[] each) {}

    /** A class run begins to write here. */
    void noteWriters() {
        classOldWriter = writer;
    }

    /** It left everything as it had found it. */
    void restoreWriters() {
        writer = classOldWriter;
    }
}
