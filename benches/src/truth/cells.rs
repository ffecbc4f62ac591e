//! The kinds of state through which generated tests meet: how it is declared, polluted, cleaned and read, in Java, and
//! what the cause is called.
//!
//! `$C` stands for the class of the cell (`Cell3`), `$k` for its name in lower case.

/// One kind of state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    /// The class, or classes, that hold it.
    pub(crate) source: &'static str,
    /// Each of them leaves what `is_polluted` says.
    pub(crate) pollute: &'static [&'static str],
    pub(crate) clean: &'static [&'static str],
    /// Pollutes and puts back what was there.
    pub(crate) restore: &'static str,
    /// Uses the state without changing what it means to anybody.
    pub(crate) touch: &'static [&'static str],
    pub(crate) is_clean: &'static str,
    pub(crate) is_polluted: &'static str,
    /// How the cause may be called; a last `*` stands for anything.
    pub(crate) causes: &'static [&'static str],
}

pub(crate) const PRIMITIVE: Recipe = Recipe {
    name: "primitive",
    source: "final class $C { static int value; static int hits; }",
    pollute: &["$C.value = 7;"],
    clean: &["$C.value = 0;"],
    restore: "int old = $C.value; $C.value = 7; try { $C.hits++; } finally { $C.value = old; }",
    touch: &["$C.hits++;", "if ($C.value == 99) $C.hits--;"],
    is_clean: "$C.value == 0",
    is_polluted: "$C.value == 7",
    causes: &["$C.value"],
};

/// Left out of the deck: it stands for the others where the way of writing is what matters.
pub(crate) const LAST: Recipe = Recipe {
    name: "last",
    source: "final class $C { static String last = \"none\"; static int hits; }",
    pollute: &["$C.last = \"bad\";"],
    clean: &["$C.last = \"good\";", "$C.last = \"fine\";", "$C.last = \"none\";"],
    restore: "String old = $C.last; $C.last = \"bad\"; $C.last = old;",
    touch: &["$C.hits++;"],
    is_clean: "!$C.last.equals(\"bad\")",
    is_polluted: "$C.last.equals(\"bad\")",
    causes: &["$C.last"],
};

const SINGLETON: Recipe = Recipe {
    name: "singleton",
    source: "final class $C {
  static Service service = new Service(\"real\");
  static final class Service { final String name; int calls; Service(String name) { this.name = name; } }
}",
    pollute: &["$C.service = new $C.Service(\"fake\");"],
    clean: &["$C.service = new $C.Service(\"real\");"],
    restore: "$C.Service old = $C.service; $C.service = new $C.Service(\"fake\"); $C.service.calls++; $C.service = old;",
    touch: &["$C.service.calls++;", "if ($C.service.name.isEmpty()) $C.service.calls--;"],
    is_clean: "$C.service.name.equals(\"real\")",
    is_polluted: "$C.service.name.equals(\"fake\")",
    causes: &["$C.service", "$C$Service.name"],
};

const DEEP: Recipe = Recipe {
    name: "deep",
    source: "final class $C {
  static final Root ROOT = new Root();
  static final class Root { Node node = new Node(); int uses; }
  static final class Node { Leaf leaf = new Leaf(1); Node next; }
  static final class Leaf { int level; Leaf(int level) { this.level = level; } }
}",
    pollute: &["$C.ROOT.node.leaf.level = 5;", "$C.ROOT.node.leaf = new $C.Leaf(5);"],
    clean: &["$C.ROOT.node.leaf.level = 1;", "$C.ROOT.node = new $C.Node();"],
    restore: "int old = $C.ROOT.node.leaf.level; $C.ROOT.node.leaf.level = 5; $C.ROOT.node.leaf.level = old;",
    touch: &["$C.ROOT.uses++;", "if ($C.ROOT.node.next != null) $C.ROOT.uses++;"],
    is_clean: "$C.ROOT.node.leaf.level == 1",
    is_polluted: "$C.ROOT.node.leaf.level == 5",
    causes: &["$C.ROOT", "$C$Root.node", "$C$Node.leaf", "$C$Leaf.level"],
};

const ARRAY: Recipe = Recipe {
    name: "array",
    source: "final class $C { static final int[] TABLE = new int[6]; }",
    pollute: &["$C.TABLE[2] = 5;", "System.arraycopy(new int[] {5}, 0, $C.TABLE, 2, 1);"],
    clean: &["$C.TABLE[2] = 0;", "java.util.Arrays.fill($C.TABLE, 0);"],
    restore: "int old = $C.TABLE[2]; $C.TABLE[2] = 5; $C.TABLE[2] = old;",
    touch: &["$C.TABLE[4]++;", "if ($C.TABLE[1] != 0) $C.TABLE[1] = 0;"],
    is_clean: "$C.TABLE[2] == 0",
    is_polluted: "$C.TABLE[2] == 5",
    causes: &["$C.TABLE"],
};

const ENUM: Recipe = Recipe {
    name: "enum",
    source: "enum $C { LOW, HIGH; int weight = 1; int uses; }",
    pollute: &["$C.LOW.weight = 8;"],
    clean: &["$C.LOW.weight = 1;", "for ($C each : $C.values()) each.weight = 1;"],
    restore: "int old = $C.LOW.weight; $C.LOW.weight = 8; $C.LOW.weight = old;",
    touch: &["$C.HIGH.weight = 8;", "$C.LOW.uses++;"],
    is_clean: "$C.LOW.weight == 1",
    is_polluted: "$C.LOW.weight == 8",
    causes: &["$C.LOW", "$C.weight"],
};

const EMPTY_MAP: Recipe = Recipe {
    name: "empty-map",
    source: "final class $C { static final Map<String, String> MAP = new HashMap<>(); static int hits; }",
    pollute: &["$C.MAP.put(\"key\", \"bad\");", "$C.MAP.putAll(Map.of(\"key\", \"bad\"));"],
    clean: &["$C.MAP.remove(\"key\");", "$C.MAP.clear();"],
    restore: "String old = $C.MAP.put(\"key\", \"bad\"); if (old == null) $C.MAP.remove(\"key\");",
    touch: &["$C.MAP.get(\"other\");", "$C.MAP.remove(\"nothing\");", "$C.hits++;"],
    is_clean: "$C.MAP.get(\"key\") == null",
    is_polluted: "\"bad\".equals($C.MAP.get(\"key\"))",
    causes: &["$C.MAP"],
};

const FILLED_MAP: Recipe = Recipe {
    name: "filled-map",
    source: "final class $C {
  static final Map<String, Integer> RATES = new HashMap<>();
  static { for (String name : new String[] {\"EUR\", \"USD\", \"GBP\", \"YEN\"}) RATES.put(name, 1); }
}",
    pollute: &["$C.RATES.remove(\"USD\");", "$C.RATES.keySet().remove(\"USD\");"],
    clean: &["$C.RATES.put(\"USD\", 1);"],
    restore: "Integer old = $C.RATES.remove(\"USD\"); if (old != null) $C.RATES.put(\"USD\", old);",
    touch: &["$C.RATES.get(\"EUR\");", "$C.RATES.put(\"AUD\", 3);"],
    is_clean: "$C.RATES.containsKey(\"USD\")",
    is_polluted: "!$C.RATES.containsKey(\"USD\")",
    causes: &["$C.RATES"],
};

const LIST: Recipe = Recipe {
    name: "list",
    source: "final class $C {
  static final List<String> NAMES = new ArrayList<>();
  static String all() { StringBuilder text = new StringBuilder(); for (String name : NAMES) text.append(name); return text.toString(); }
}",
    pollute: &[
        "$C.NAMES.clear(); $C.NAMES.add(\"x\"); $C.NAMES.add(\"y\"); $C.NAMES.add(\"z\");",
        "$C.NAMES.clear(); $C.NAMES.addAll(List.of(\"x\", \"y\", \"z\"));",
    ],
    clean: &["$C.NAMES.clear();", "$C.NAMES.removeIf(name -> true);"],
    restore: "List<String> old = new ArrayList<>($C.NAMES); $C.NAMES.add(\"x\"); $C.NAMES.clear(); $C.NAMES.addAll(old);",
    touch: &["$C.NAMES.size();", "$C.all();"],
    is_clean: "$C.all().isEmpty()",
    is_polluted: "$C.all().equals(\"xyz\")",
    causes: &["$C.NAMES"],
};

const CONCURRENT_MAP: Recipe = Recipe {
    name: "concurrent-map",
    source: "final class $C { static final Map<String, String> MAP = new java.util.concurrent.ConcurrentHashMap<>(); }",
    pollute: &["$C.MAP.put(\"key\", \"bad\");", "$C.MAP.computeIfAbsent(\"key\", key -> \"bad\");"],
    clean: &["$C.MAP.remove(\"key\");", "$C.MAP.clear();"],
    restore: "String old = $C.MAP.put(\"key\", \"bad\"); if (old == null) $C.MAP.remove(\"key\");",
    touch: &["$C.MAP.get(\"other\");", "$C.MAP.put(\"other\", \"good\");"],
    is_clean: "!$C.MAP.containsKey(\"key\")",
    is_polluted: "$C.MAP.containsKey(\"key\")",
    causes: &["$C.MAP"],
};

const LAZY: Recipe = Recipe {
    name: "lazy",
    source: "final class $C {
  static String setting = \"a\";
  static String cached;
  static String get() { if (cached == null) cached = \"made of \" + setting; return cached; }
}",
    pollute: &["$C.cached = null; $C.setting = \"b\"; $C.get(); $C.setting = \"a\";", "$C.setting = \"b\";"],
    clean: &["$C.cached = null; $C.setting = \"a\";"],
    restore: "String old = $C.setting; $C.setting = \"b\"; $C.setting = old;",
    touch: &["$C.get();"],
    is_clean: "$C.get().equals(\"made of a\")",
    is_polluted: "$C.get().equals(\"made of b\")",
    causes: &["$C.cached", "$C.setting"],
};

const COUNTER: Recipe = Recipe {
    name: "counter",
    source: "final class $C { static final java.util.concurrent.atomic.AtomicInteger COUNT = new java.util.concurrent.atomic.AtomicInteger(); }",
    pollute: &["$C.COUNT.incrementAndGet();", "$C.COUNT.getAndAdd(3);"],
    clean: &["$C.COUNT.set(0);"],
    restore: "$C.COUNT.incrementAndGet(); $C.COUNT.decrementAndGet();",
    touch: &["$C.COUNT.get();", "$C.COUNT.compareAndSet(-1, 0);"],
    is_clean: "$C.COUNT.get() == 0",
    is_polluted: "$C.COUNT.get() > 0",
    causes: &["$C.COUNT"],
};

const BUILDER: Recipe = Recipe {
    name: "builder",
    source: "final class $C { static final StringBuilder TEXT = new StringBuilder(\"head\"); }",
    pollute: &["$C.TEXT.append(\"+tail\");", "$C.TEXT.insert(4, \"+more\");"],
    clean: &["$C.TEXT.setLength(4);"],
    restore: "int old = $C.TEXT.length(); $C.TEXT.append(\"+tail\"); $C.TEXT.setLength(old);",
    touch: &["$C.TEXT.length();"],
    is_clean: "$C.TEXT.toString().equals(\"head\")",
    is_polluted: "$C.TEXT.toString().startsWith(\"head+\")",
    causes: &["$C.TEXT"],
};

const PROPERTY: Recipe = Recipe {
    name: "property",
    source: "final class $C { static String mode() { return System.getProperty(\"$k.mode\", \"normal\"); } }",
    pollute: &["System.setProperty(\"$k.mode\", \"odd\");"],
    clean: &["System.clearProperty(\"$k.mode\");", "System.setProperty(\"$k.mode\", \"normal\");"],
    restore: "String old = System.setProperty(\"$k.mode\", \"odd\"); if (old == null) System.clearProperty(\"$k.mode\"); else System.setProperty(\"$k.mode\", old);",
    touch: &["System.setProperty(\"$k.other\", \"odd\");", "System.getProperty(\"$k.none\");"],
    is_clean: "$C.mode().equals(\"normal\")",
    is_polluted: "$C.mode().equals(\"odd\")",
    causes: &["property $k.mode"],
};

const LOCALE: Recipe = Recipe {
    name: "locale",
    source: "final class $C { static String number() { return String.format(\"%.1f\", 1.5); } }",
    pollute: &["Locale.setDefault(Locale.GERMANY);"],
    clean: &["Locale.setDefault(Locale.US);"],
    restore: "Locale old = Locale.getDefault(); Locale.setDefault(Locale.GERMANY); Locale.setDefault(old);",
    touch: &["Locale.getDefault();"],
    is_clean: "$C.number().equals(\"1.5\")",
    is_polluted: "$C.number().equals(\"1,5\")",
    causes: &["Locale.default*"],
};

const TIME_ZONE: Recipe = Recipe {
    name: "time-zone",
    source: "final class $C { static String id() { return TimeZone.getDefault().getID(); } }",
    pollute: &["TimeZone.setDefault(TimeZone.getTimeZone(\"Asia/Tokyo\"));"],
    clean: &["TimeZone.setDefault(TimeZone.getTimeZone(\"UTC\"));"],
    restore: "TimeZone old = TimeZone.getDefault(); TimeZone.setDefault(TimeZone.getTimeZone(\"Asia/Tokyo\")); TimeZone.setDefault(old);",
    touch: &["TimeZone.getDefault();"],
    is_clean: "$C.id().equals(\"UTC\")",
    is_polluted: "$C.id().equals(\"Asia/Tokyo\")",
    causes: &["TimeZone.default*"],
};

const THREAD_LOCAL: Recipe = Recipe {
    name: "thread-local",
    source: "final class $C { static final ThreadLocal<String> LOCAL = new ThreadLocal<>(); }",
    pollute: &["$C.LOCAL.set(\"left\");"],
    clean: &["$C.LOCAL.remove();", "$C.LOCAL.set(null);"],
    restore: "String old = $C.LOCAL.get(); $C.LOCAL.set(\"left\"); $C.LOCAL.set(old);",
    touch: &["$C.LOCAL.get();"],
    is_clean: "$C.LOCAL.get() == null",
    is_polluted: "\"left\".equals($C.LOCAL.get())",
    causes: &["$C.LOCAL", "Thread.threadLocals*", "ThreadLocal*"],
};

/// A helper whose initializer writes into another class.
const REGISTRATION: Recipe = Recipe {
    name: "registration",
    source: "final class $C { static final List<String> REGISTRY = new ArrayList<>(); static int hits; }
final class $CPlugin { static { $C.REGISTRY.add(\"plugin\"); } static int uses; static void use() { uses++; } }",
    pollute: &["$CPlugin.use();"],
    clean: &["$C.REGISTRY.clear();"],
    restore: "$C.REGISTRY.add(\"more\"); $C.REGISTRY.remove(\"more\");",
    touch: &["$C.REGISTRY.contains(\"nothing\");", "$C.hits++;"],
    is_clean: "$C.REGISTRY.isEmpty()",
    is_polluted: "$C.REGISTRY.contains(\"plugin\")",
    causes: &["$C.REGISTRY"],
};

/// Broken only by both steps, in this order.
pub(crate) const TWO_STEPS: Recipe = Recipe {
    name: "two-steps",
    source: "final class $C { static boolean armed; static boolean broken; static int hits; }",
    pollute: &["$C.armed = true;", "if ($C.armed) $C.broken = true;"],
    clean: &["$C.armed = false; $C.broken = false;", "$C.armed = false;"],
    restore: "boolean old = $C.armed; $C.armed = true; $C.armed = old;",
    touch: &["$C.hits++;"],
    is_clean: "!$C.broken",
    is_polluted: "$C.broken",
    causes: &["$C.armed", "$C.broken"],
};

/// Those that a plain coupling is made of.
pub(crate) const RECIPES: [Recipe; 17] = [
    PRIMITIVE,
    SINGLETON,
    DEEP,
    ARRAY,
    ENUM,
    EMPTY_MAP,
    FILLED_MAP,
    LIST,
    CONCURRENT_MAP,
    LAZY,
    COUNTER,
    BUILDER,
    PROPERTY,
    LOCALE,
    TIME_ZONE,
    THREAD_LOCAL,
    REGISTRATION,
];

/// Those whose state any suite may have more than once.
pub(crate) const COMMON: [Recipe; 7] = [PRIMITIVE, SINGLETON, DEEP, EMPTY_MAP, LIST, CONCURRENT_MAP, LAST];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_has_all_that_a_coupling_needs() {
        for recipe in RECIPES.iter().chain(&COMMON).chain([&TWO_STEPS]) {
            let lists = [recipe.pollute, recipe.clean, recipe.touch, recipe.causes];
            assert!(lists.iter().all(|list| !list.is_empty()), "{}", recipe.name);
            assert!(recipe.source.contains("$C"), "{}", recipe.name);
        }
    }
}
