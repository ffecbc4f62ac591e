package bookshop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CsvExportTest {
    @BeforeAll
    static void installThePlugin() {
        Exporters.register("csv", Exporters::csv);
    }

    @Test
    void writesOneLineForEachBook() {
        String csv = Exporters.named("csv").export(List.of(Samples.EMMA, Samples.PERSUASION));
        assertEquals("978-1,Emma,10.00\n978-2,Persuasion,12.50", csv);
    }

    @Test
    void quotesATitleThatHasAComma() {
        String csv = Exporters.named("csv").export(List.of(Samples.SONNETS));
        assertEquals("978-3,\"Shakespeare, the Sonnets\",8.00", csv);
    }
}
