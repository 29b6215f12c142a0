// Fetches one URL with what Java brings: `java Fetch.java HttpClient|HttpURLConnection URL` prints the body.
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

final class Fetch {
    private Fetch() {
    }

    public static void main(String[] arguments) throws Exception {
        URI uri = URI.create(arguments[1]);
        System.out.print(arguments[0].equals("HttpClient") ? byHttpClient(uri) : byHttpUrlConnection(uri));
    }

    private static String byHttpClient(URI uri) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(uri).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    private static String byHttpUrlConnection(URI uri) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
        return new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}
