package modern;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Both tests are in one class, so that they run in one JVM however the classes are spread. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class GuestbookTest {
    @Test
    @Order(1)
    void aGuestSigns() {
        Guestbook.sign("Ada");
        assertEquals(1, Guestbook.size());
    }

    /** Fails alone: depends on aGuestSigns through Guestbook.ENTRIES. */
    @Test
    @Order(2)
    void theBookRemembersTheGuest() {
        assertEquals(1, Guestbook.size());
    }
}
