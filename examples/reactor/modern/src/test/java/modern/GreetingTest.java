package modern;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class GreetingTest {
    @Test
    void greetsByName() {
        assertEquals("Welcome, Ada", Guestbook.greeting("Ada"));
    }
}
