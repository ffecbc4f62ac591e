package bookshop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.math.BigDecimal;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Today's exchange rates, kept for everyone who asks: units of a currency for one euro. */
public final class ExchangeRates {
    private static final Map<String, BigDecimal> RATES = new ConcurrentHashMap<>();

    private ExchangeRates() {}

    /** Reads the rates that the bank publishes each morning, one {@code CODE=rate} to a line. */
    public static int load(Reader published) throws IOException {
        BufferedReader lines = new BufferedReader(published);
        int count = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map.Entry<String, BigDecimal> rate = parse(line);
            RATES.put(rate.getKey(), rate.getValue());
            count++;
        }
        return count;
    }

    public static BigDecimal of(String currency) {
        BigDecimal rate = RATES.get(currency);
        if (rate == null) {
            throw new IllegalArgumentException("no exchange rate for " + currency);
        }
        return rate;
    }

    static Map.Entry<String, BigDecimal> parse(String line) {
        String[] parts = line.split("=");
        if (parts.length != 2) {
            throw new IllegalArgumentException("not an exchange rate: " + line);
        }
        return Map.entry(parts[0].trim(), new BigDecimal(parts[1].trim()));
    }
}
