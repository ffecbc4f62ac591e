package bookshop;

/** The settings of this shop, changed from the back office while the shop is open. */
public final class Settings {
    private static final Settings INSTANCE = new Settings();

    private String shopName = "The Corner Bookshop";
    private int vatPercent = 7;

    private Settings() {}

    public static Settings instance() {
        return INSTANCE;
    }

    /** The discount on everything, given when the shop is started. */
    public static int promotionPercent() {
        return Integer.getInteger("bookshop.promotion", 0);
    }

    public String shopName() {
        return shopName;
    }

    public void setShopName(String shopName) {
        this.shopName = shopName;
    }

    public int vatPercent() {
        return vatPercent;
    }

    public void setVatPercent(int vatPercent) {
        if (vatPercent < 0) {
            throw new IllegalArgumentException("negative tax: " + vatPercent);
        }
        this.vatPercent = vatPercent;
    }
}
