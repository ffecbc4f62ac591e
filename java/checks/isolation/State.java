package isolation;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** State of every kind, and random changes of it. */
final class State {
    static int number = 1;
    static long wide = 2;
    static double ratio = 0.5;
    static boolean flag;
    static String text = "a";
    static Object any = new Object[] {1, "two"};
    static int[] numbers = new int[40];
    static final byte[] bytes = new byte[300];
    static final Object[] objects = new Object[10];
    static final long[][] table = new long[5][70];
    static final Map<Object, Object> hash = new HashMap<>();
    static final Map<Object, Object> linked = new LinkedHashMap<>(16, 0.75f, true);
    static final TreeMap<Integer, Object> tree = new TreeMap<>();
    static final Map<Object, Object> concurrent = new ConcurrentHashMap<>();
    static final List<Object> list = new ArrayList<>(List.of("x", "y"));
    static final LinkedList<Object> chain = new LinkedList<>();
    static final List<Object> copied = new CopyOnWriteArrayList<>();
    static final ArrayDeque<Object> deque = new ArrayDeque<>();
    static final ConcurrentLinkedQueue<Object> queue = new ConcurrentLinkedQueue<>();
    static final PriorityQueue<Integer> priorities = new PriorityQueue<>();
    static final BitSet bits = new BitSet();
    static final StringBuilder builder = new StringBuilder("b");
    static final AtomicInteger atomic = new AtomicInteger();
    static final AtomicReference<Object> reference = new AtomicReference<>();
    static final ThreadLocal<Object> local = ThreadLocal.withInitial(() -> "nothing");
    static Node root = new Node(0, new Node(1, null, null), new Node(2, null, null));

    static final class Node {
        Node left;
        Node right;
        int value;
        Object payload;

        Node(int value, Node left, Node right) {
            this.value = value;
            this.left = left;
            this.right = right;
        }
    }

    static {
        for (int i = 0; i < 20; i++) {
            hash.put("k" + i, i);
            linked.put(i, "v" + i);
            tree.put(i * 3, i);
            concurrent.put(i, new ArrayList<>(List.of(i)));
        }
        Collections.addAll(chain, 1, 2, 3);
        Collections.addAll(priorities, 5, 3, 9);
        deque.add("d");
        queue.add("q");
        bits.set(3);
    }

    private State() {}

    static void change(long seed) {
        Random random = new Random(seed);
        int steps = random.nextInt(60);
        for (int i = 0; i < steps; i++) {
            change(random.nextInt(44), random.nextInt(60), random);
        }
    }

    private static Object value(Random random) {
        switch (random.nextInt(5)) {
            case 0: return random.nextInt();
            case 1: return "s" + random.nextInt(100);
            case 2: return new ArrayList<>(List.of("inner"));
            case 3: return root;
            default: return new Node(random.nextInt(), root, null);
        }
    }

    private static Node node(Random random) {
        Node at = root;
        while (at != null && random.nextInt(3) != 0) {
            Node next = random.nextBoolean() ? at.left : at.right;
            if (next == null) {
                break;
            }
            at = next;
        }
        return at == null ? new Node(0, null, null) : at;
    }

    @SuppressWarnings("unchecked")
    private static void change(int kind, int at, Random random) {
        switch (kind) {
            case 0: number += at; break;
            case 1: wide ^= 1L << at; break;
            case 2: ratio *= at; break;
            case 3: flag = !flag; break;
            case 4: text += at; break;
            case 5: any = value(random); break;
            case 6: numbers[at % numbers.length]++; break;
            case 7: numbers = Arrays.copyOf(numbers, 30 + at); break;
            case 8: bytes[at * 5] = (byte) at; break;
            case 9: Arrays.fill(bytes, at, 200, (byte) 7); break;
            case 10: System.arraycopy(bytes, 0, bytes, at, 100); break;
            case 11: objects[at % 10] = value(random); break;
            case 12: table[at % 5][at] = random.nextLong(); break;
            case 13: table[at % 5] = new long[70 + at]; break;
            case 14: hash.put("k" + at, value(random)); break;
            case 15: hash.remove("k" + at); break;
            case 16: hash.clear(); break;
            case 17: linked.get(at); break;
            case 18: linked.put(at, value(random)); break;
            case 19: linked.remove(at); break;
            case 20: tree.put(at, value(random)); break;
            case 21: tree.pollFirstEntry(); break;
            case 22: tree.headMap(at).clear(); break;
            case 23: concurrent.merge(at, "m", (a, b) -> String.valueOf(b)); break;
            case 24: concurrent.remove(at); break;
            case 25:
                Object inner = concurrent.get(at);
                if (inner instanceof ArrayList) {
                    ((List<Object>) inner).add(at);
                }
                break;
            case 26: list.add(value(random)); break;
            case 27: list.remove(list.size() / 2 < list.size() ? list.get(list.size() / 2) : null); break;
            case 28: list.sort((a, b) -> String.valueOf(a.hashCode()).compareTo(String.valueOf(b.hashCode()))); break;
            case 29: chain.addFirst(at); break;
            case 30: chain.pollLast(); break;
            case 31: copied.add(value(random)); break;
            case 32: deque.addLast(at); break;
            case 33: deque.pollFirst(); break;
            case 34: queue.add(at); break;
            case 35: queue.poll(); break;
            case 36: priorities.add(at); break;
            case 37: bits.flip(at); break;
            case 38: builder.append(at); break;
            case 39: atomic.addAndGet(at); break;
            case 40: reference.set(value(random)); break;
            case 41: local.set(value(random)); break;
            case 42:
                Node node = node(random);
                node.payload = value(random);
                node.left = at % 2 == 0 ? new Node(at, node.left, null) : node.left;
                break;
            default:
                System.setProperty("state." + at, text);
                for (Iterator<Object> each = chain.iterator(); each.hasNext() && at % 4 == 0; ) {
                    each.next();
                    each.remove();
                }
                break;
        }
    }
}
