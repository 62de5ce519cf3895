import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/** Prints Kafka's names for numbers, a line each: the argument, number, name, and of an error whether it is retriable. */
public class EnumTables {
    /**
     * Arguments: classes, each with what has the numbers. In class#member it is a method or a field of an enum, in
     * class#PREFIX_* and class#*_SUFFIX the constants of that name.
     */
    public static void main(String[] arguments) throws Exception {
        for (String argument : arguments) {
            String[] parts = argument.split("#");
            Class<?> type = Class.forName(parts[0]);
            if (parts[1].contains("*")) {
                printConstants(argument, type, parts[1].replace("*", ""));
                continue;
            }
            for (Object value : type.getEnumConstants()) {
                print(argument, number(value, type, parts[1]), ((Enum<?>) value).name(), retriable(value));
            }
        }
    }

    private static void printConstants(String argument, Class<?> type, String affix) throws Exception {
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getName().contains(affix)) {
                field.setAccessible(true);
                print(argument, field.get(null), field.getName().replace(affix, ""), "-");
            }
        }
    }

    private static void print(String argument, Object number, String name, String retriable) {
        System.out.println(String.join("\t", argument, number.toString(), name, retriable));
    }

    private static Object number(Object value, Class<?> type, String member) throws Exception {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(member) && method.getParameterCount() == 0) {
                method.setAccessible(true);
                return method.invoke(value);
            }
        }
        Field field = type.getDeclaredField(member);
        field.setAccessible(true);
        return field.get(value);
    }

    /** As Errors.exception() says; "-" of other enums. */
    private static String retriable(Object value) throws Exception {
        if (!value.getClass().getName().equals("org.apache.kafka.common.protocol.Errors")) {
            return "-";
        }
        Object exception = value.getClass().getMethod("exception").invoke(value);
        return String.valueOf(Class.forName("org.apache.kafka.common.errors.RetriableException").isInstance(exception));
    }
}
