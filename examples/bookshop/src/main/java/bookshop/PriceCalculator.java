package bookshop;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** Works out what a customer pays: promotion, value-added tax, currency. */
public final class PriceCalculator {
    private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

    /** The price after the running promotion, before tax. */
    public BigDecimal net(Book book) {
        return percentOf(book.price(), 100 - Settings.promotionPercent());
    }

    /** The price on the label: after the promotion, with tax. */
    public BigDecimal gross(Book book) {
        return percentOf(net(book), 100 + Settings.instance().vatPercent());
    }

    /** The price before promotion and tax, in another currency. */
    public BigDecimal listPriceIn(String currency, Book book) {
        return cents(book.price().multiply(ExchangeRates.of(currency)));
    }

    private static BigDecimal percentOf(BigDecimal amount, int percent) {
        return cents(amount.multiply(BigDecimal.valueOf(percent)).divide(HUNDRED));
    }

    private static BigDecimal cents(BigDecimal amount) {
        return amount.setScale(2, RoundingMode.HALF_UP);
    }
}
