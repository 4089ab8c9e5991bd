package odf;

import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.HexFormat;
import org.apache.hadoop.security.UserGroupInformation;
import py4j.GatewayServer;

/**
 * The driver JVM. It opens a gateway on the loopback address, prints "port token" as its only line
 * of output, and lives exactly as long as its standard input.
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws IOException {
    dieWithParent();
    // Hadoop asks the operating system for a user name, which a container's user may not have.
    UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser("odf"));
    String token = token();
    GatewayServer server =
        new GatewayServer.GatewayServerBuilder()
            .entryPoint(new Engine())
            .javaAddress(InetAddress.getLoopbackAddress())
            .javaPort(0)
            .authToken(token)
            .build();
    server.start();
    System.out.println(server.getListeningPort() + " " + token);
    System.out.flush();
    System.setOut(System.err);
  }

  private static String token() {
    byte[] bytes = new byte[32];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** The pipe closes however the parent ends, so a killed parent leaves no JVM behind. */
  private static void dieWithParent() {
    Thread watch =
        new Thread(
            () -> {
              try {
                while (System.in.read() != -1) {}
              } catch (IOException gone) {
                // A broken pipe means the same as a closed one.
              }
              Runtime.getRuntime().halt(0);
            },
            "odf-parent-watch");
    watch.setDaemon(true);
    watch.start();
  }
}
