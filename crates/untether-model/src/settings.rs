//! What the JDK keeps for programs to set: its fields are as near to a project as its own.

/// Where system properties are.
pub const PROPERTIES: &str = "java.lang.System.props";

/// Where variables of the environment are, which programs can only change by reflection.
pub const ENVIRONMENT: &str = "java.lang.ProcessEnvironment.theEnvironment";

const OTHERS: &[&str] = &[
    "java.lang.System.err",
    "java.lang.System.in",
    "java.lang.System.out",
    "java.lang.Thread.defaultUncaughtExceptionHandler",
    "java.net.Authenticator.theAuthenticator",
    "java.net.CookieHandler.cookieHandler",
    "java.net.ProxySelector.theProxySelector",
    "java.security.Security.props",
    "java.util.TimeZone.defaultTimeZone",
    "javax.net.ssl.HttpsURLConnection.defaultHostnameVerifier",
    "javax.net.ssl.HttpsURLConnection.defaultSSLSocketFactory",
    "javax.net.ssl.SSLContext.defaultContext",
    "sun.security.jca.Providers.providerList",
];

/// Whether a field of the JDK is there for programs to set.
pub fn is_program_setting(field: &str) -> bool {
    field == PROPERTIES
        || field == ENVIRONMENT
        || field.starts_with("java.util.Locale.default")
        || OTHERS.binary_search(&field).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_found() {
        assert!(OTHERS.iter().all(|field| is_program_setting(field)), "they must be sorted");
        assert!(is_program_setting("java.util.Locale.defaultFormatLocale"));
        assert!(!is_program_setting("java.util.Locale.CACHE"));
    }
}
