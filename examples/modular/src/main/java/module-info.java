/** A till; its tests are patched into this module. */
module till {
    exports till;
}
