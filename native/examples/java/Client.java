import com.sun.jna.Library;
import com.sun.jna.Native;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** recolva from Java, by JNA. Arrays are copied into a call and back; a direct buffer is passed as it is. */
public final class Client {
    /** The functions of recolva.h. */
    interface Recolva extends Library {
        int RecolvaAbiVersion();

        int DecayScoreExponential(long lastAccessed, long now, long halfLife, double[] out);

        int DecayScorePowerLaw(long lastAccessed, long now, long scale, double exponent, double importance, double[] out);

        int DecayScoreExponentialBatch(long[] lastAccessed, long count, long now, long halfLife, double[] out);

        int DecayScorePowerLawBatch(long[] lastAccessed, double[] importance, long count, long now, long scale,
                double exponent, double[] out);

        int RecolvaScanBlock(Buffer data, long length, int atEnd, int model, double[] parameters, int parameterCount,
                long now, double threshold, long capacity, long[] lineStart, long[] lineEnd, long[] idStart, long[] idEnd,
                long[] lastAccessed, double[] score, byte[] prune, long[] records, long[] blanks, long[] consumed,
                long[] badLine);
    }

    static final int ABI_VERSION = 1, POWER_LAW = 1, ROWS = 100;
    static final long NOW = 87_400_000, DAY = 86_400_000;

    final Recolva recolva;
    final PrintStream out = new PrintStream(new BufferedOutputStream(System.out));

    Client(String library) {
        recolva = Native.load(library, Recolva.class);
        if (recolva.RecolvaAbiVersion() != ABI_VERSION) {
            throw new IllegalStateException("ABI version must be " + ABI_VERSION + ", got " + recolva.RecolvaAbiVersion());
        }
    }

    static void check(int status) {
        if (status != 0) {
            throw new IllegalArgumentException("recolva: status " + status);
        }
    }

    /** Prints one score of each model, and a batch. */
    void score() {
        double[] one = new double[1], other = new double[1], many = new double[3];
        check(recolva.DecayScoreExponential(1_000_000, NOW, DAY, one));
        check(recolva.DecayScorePowerLaw(1_000_000, NOW, DAY, 1, 0.5, other));
        check(recolva.DecayScoreExponentialBatch(new long[] {1_000_000, -85_400_000, -171_800_000}, 3, NOW, DAY, many));
        out.printf("exponential %s%npower-law %s%nbatch %s %s %s%n", one[0], other[0], many[0], many[1], many[2]);
    }

    static String hex(double x) {
        return String.format("%016x", Double.doubleToRawLongBits(x));
    }

    static double fromHex(String text) {
        return Double.longBitsToDouble(Long.parseUnsignedLong(text, 16));
    }

    /** Prints id, score and decision of each memory in a JSONL file, a block of rows at a time. */
    void scan(Path file) throws IOException {
        ByteBuffer data;
        try (FileChannel channel = FileChannel.open(file)) {
            data = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
        int at = data.limit() >= 3 && (data.getInt(0) >>> 8) == 0xEFBBBF ? 3 : 0; // a byte order mark belongs to no line
        long[] lineStart = new long[ROWS], lineEnd = new long[ROWS], idStart = new long[ROWS], idEnd = new long[ROWS];
        long[] lastAccessed = new long[ROWS], records = {0}, blanks = {0}, consumed = {0}, badLine = {0};
        double[] scores = new double[ROWS], parameters = {86_400_000, 1}; // scale_ms, exponent
        byte[] prune = new byte[ROWS];
        long memories = 0, lines = 0;
        do {
            ByteBuffer rest = data.slice(at, data.limit() - at);
            check(recolva.RecolvaScanBlock(rest, rest.limit(), 1, POWER_LAW, parameters, 2, NOW, 0.3, ROWS, lineStart,
                    lineEnd, idStart, idEnd, lastAccessed, scores, prune, records, blanks, consumed, badLine));
            for (int i = 0; i < records[0]; i++) {
                byte[] id = new byte[(int) (idEnd[i] - idStart[i])];
                rest.get((int) idStart[i], id);
                out.writeBytes(id);
                out.printf("\t%s\t%d%n", hex(scores[i]), prune[i]);
            }
            if (badLine[0] != 0) {
                throw new IOException("line " + (lines + badLine[0]) + " is not valid");
            }
            at += (int) consumed[0];
            memories += records[0];
            lines += records[0] + blanks[0];
        } while (at < data.limit());
        out.printf("%d memories, %d blank lines%n", memories, lines - memories);
    }

    /** Answers each line of standard input with status and score, of a single call and of a batch. */
    void vectors() throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            long last = Long.parseLong(words[1]), now = Long.parseLong(words[2]), millis = Long.parseLong(words[3]);
            double[] single = {-7.25}, batch = {-7.25};
            int status, batchStatus;
            if (words[0].equals("exponential")) {
                status = recolva.DecayScoreExponential(last, now, millis, single);
                batchStatus = recolva.DecayScoreExponentialBatch(new long[] {last}, 1, now, millis, batch);
            } else {
                double exponent = fromHex(words[4]), importance = fromHex(words[5]);
                status = recolva.DecayScorePowerLaw(last, now, millis, exponent, importance, single);
                batchStatus = recolva.DecayScorePowerLawBatch(new long[] {last}, new double[] {importance}, 1, now, millis,
                        exponent, batch);
            }
            out.printf("%d %s %d %s%n", status, hex(single[0]), batchStatus, hex(batch[0]));
        }
    }

    public static void main(String[] arguments) {
        String library = System.getenv("RECOLVA_LIBRARY");
        Client client = new Client(library != null ? library : "recolva");
        try {
            if (arguments.length != 1) {
                throw new IOException("usage: Client FILE.jsonl | Client --vectors");
            } else if (arguments[0].equals("--vectors")) {
                client.vectors();
            } else {
                client.score();
                client.scan(Path.of(arguments[0]));
            }
            client.out.flush();
        } catch (IOException error) {
            client.out.flush();
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }
}
