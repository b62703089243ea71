export type Source = "flag" | "env" | "file"

export type SettingDescription = {
  readonly sources: readonly Source[]
  readonly hint: string
  readonly help: string
  /** All accepted values, if there are only a few. */
  readonly values?: readonly string[]
}

/** The accepted values of some settings. */
export const logLevels = ["trace", "debug", "info", "warning", "error", "fatal"] as const
export const logFormats = ["text", "json"] as const
/** Sources of automatic certificates. */
export const tlsKinds = ["acme", "internal"] as const
/** The accepted ciphers of TLS 1.2. */
export const tlsCipherKinds = ["strict", "compatible"] as const
/** How the certificate authority validates the host name. */
export const acmeChallenges = ["http-01", "tls-alpn-01"] as const

/** Where each setting can be configured (all in the environment), and its description. */
export const settingDescriptions = {
  data: {
    sources: ["flag", "env"],
    hint: "DIR",
    help: "Data directory (default: latchkey-data)",
  },
  config: {
    sources: ["flag", "env"],
    hint: "FILE",
    help: "Configuration file (default: latchkey.toml in the data directory)",
  },
  listen: {
    sources: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Address for HTTP (default: 127.0.0.1:8080; :8080 for all interfaces, or unix:PATH)",
  },
  tlsCert: {
    sources: ["flag", "env", "file"],
    hint: "FILES",
    help: "Certificates for HTTPS, each with its chain; reloaded when they change",
  },
  tlsKey: {
    sources: ["flag", "env", "file"],
    hint: "FILES",
    help: "Private keys of the certificates, in the same order",
  },
  tls: {
    sources: ["flag", "env", "file"],
    hint: "KIND",
    help:
      "acme or internal: automatic certificates for HTTPS, public or from an internal " +
      "authority",
    values: tlsKinds,
  },
  tlsCiphers: {
    sources: ["flag", "env", "file"],
    hint: "KIND",
    help: "strict: TLS 1.2 with ECDHE and AEAD only (default); compatible: also older ciphers",
    values: tlsCipherKinds,
  },
  acmeDirectory: {
    sources: ["flag", "env", "file"],
    hint: "URL",
    help: "ACME directory of the certificate authority (default: Let's Encrypt)",
  },
  acmeChallenge: {
    sources: ["flag", "env", "file"],
    hint: "KIND",
    help: "How to prove the host name: http-01 on port 80 (default), or tls-alpn-01 on port 443",
    values: acmeChallenges,
  },
  acmeEmail: {
    sources: ["flag", "env", "file"],
    hint: "ADDRESS",
    help: "Contact address for the certificate authority",
  },
  acmeTerms: {
    sources: ["flag", "env", "file"],
    hint: "agreed",
    help: "agreed: you have read and accept the terms of service of the certificate authority",
    values: ["agreed"],
  },
  acmeRoot: {
    sources: ["flag", "env", "file"],
    hint: "FILE",
    help: "Root certificates for the connection to a private ACME directory",
  },
  redirectListen: {
    sources: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Address that redirects plain HTTP to HTTPS, such as :80 (default: none)",
  },
  grpcListen: {
    sources: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Address for gRPC (default: 127.0.0.1:8081)",
  },
  metricsListen: {
    sources: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Address for Prometheus metrics (default: none)",
  },
  traces: {
    sources: ["flag", "env", "file"],
    hint: "URL",
    help: "OTLP over HTTP endpoint for traces, http://127.0.0.1:4318/v1/traces (default: none)",
  },
  traceShare: {
    sources: ["flag", "env", "file"],
    hint: "SHARE",
    help: "Fraction of requests to trace, such as 0.1 (default: 1)",
  },
  workers: {
    sources: ["flag", "env", "file"],
    hint: "COUNT",
    help: "Number of processes that serve requests, one for each CPU core (default: 1)",
  },
  database: {
    sources: ["flag", "env", "file"],
    hint: "URL",
    help:
      "PostgreSQL database for the event log, postgres://… (default: log in the data " +
      "directory)",
  },
  publicUrl: {
    sources: ["flag", "env", "file"],
    hint: "URL",
    help: "Public URL for users, if it differs from the one chosen during setup",
  },
  // No flag: every user of the machine can read the flags of a process.
  masterKey: { sources: ["env", "file"], hint: "KEY", help: "Master key, 32 bytes in base64" },
  masterKeyFile: {
    sources: ["flag", "env", "file"],
    hint: "FILE",
    help: "File with the master key (default: master.key in the data directory)",
  },
  trustedProxies: {
    sources: ["flag", "env", "file"],
    hint: "LIST",
    help: "Trusted proxies, whose forwarded headers are used, such as 10.0.0.0/8,fd00::/8",
  },
  auditRetentionDays: {
    sources: ["flag", "env", "file"],
    hint: "DAYS",
    help: "Days to keep records of issued tokens and similar data (default: 90)",
  },
  auditCollector: {
    sources: ["flag", "env", "file"],
    hint: "URL",
    help: "URL to send all events to as JSON lines, with secrets sealed (default: none)",
  },
  // No flag, like the master key.
  auditCollectorAuthorization: {
    sources: ["env", "file"],
    hint: "VALUE",
    help: "Authorization header for the collector",
  },
  backupFolder: {
    sources: ["flag", "env", "file"],
    hint: "PLACE",
    help: "Folder or s3://BUCKET/PREFIX for scheduled backups (default: none)",
  },
  backupEveryHours: {
    sources: ["flag", "env", "file"],
    hint: "HOURS",
    help: "Hours between backups (default: 24)",
  },
  backupKeep: {
    sources: ["flag", "env", "file"],
    hint: "COUNT",
    help: "Number of backups to keep (default: 14)",
  },
  backupRecipient: {
    sources: ["flag", "env", "file"],
    hint: "AGE1…",
    help: "Encrypt backups for this public age key",
  },
  s3Endpoint: {
    sources: ["flag", "env", "file"],
    hint: "URL",
    help: "S3 endpoint, such as https://s3.example.com (default: Amazon S3)",
  },
  s3Region: {
    sources: ["flag", "env", "file"],
    hint: "NAME",
    help: "S3 region (default: us-east-1)",
  },
  s3KeyId: {
    sources: ["flag", "env", "file"],
    hint: "ID",
    help: "S3 access key ID",
  },
  // No flag, like the master key.
  s3Secret: { sources: ["env", "file"], hint: "KEY", help: "S3 secret access key" },
  s3SecretFile: {
    sources: ["flag", "env", "file"],
    hint: "FILE",
    help: "File with the S3 secret access key",
  },
  apply: {
    sources: ["flag", "env", "file"],
    hint: "PATH",
    help:
      "Files with the desired configuration of the first instance, applied at each start " +
      "(default: none)",
  },
  // A table: in the environment it is JSON; flags can't express it.
  systemUsers: {
    sources: ["env", "file"],
    hint: "TABLE",
    help: "System users, who manage instances: names, public keys and roles",
  },
  limits: {
    sources: ["flag", "env", "file"],
    hint: "TIMES",
    help: "How many times the usual one address may try and fail (default: 1; off for no limits)",
  },
  drainSeconds: {
    sources: ["flag", "env", "file"],
    hint: "SECONDS",
    help:
      "Seconds to serve requests after SIGTERM while not ready (default: 3 with a database, " +
      "otherwise 0)",
  },
  outboundAllow: {
    sources: ["flag", "env", "file"],
    hint: "LIST",
    help: "Local addresses that outbound requests may reach, such as 10.1.0.0/16,app.internal",
  },
  mailAllow: {
    sources: ["flag", "env", "file"],
    hint: "LIST",
    help: "Local mail servers that one instance may use, such as 1=mail.lan:587",
  },
  transferFolder: {
    sources: ["flag", "env", "file"],
    hint: "DIR",
    help: "Folder with files for exports and imports over the API (default: none)",
  },
  logLevel: {
    sources: ["flag", "env", "file"],
    hint: "LEVEL",
    help: logLevels.join(", "),
    values: logLevels,
  },
  logFormat: {
    sources: ["flag", "env", "file"],
    hint: "FORMAT",
    help: "text or json",
    values: logFormats,
  },
} as const satisfies Readonly<Record<string, SettingDescription>>
