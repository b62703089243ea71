export type Source = "flag" | "env" | "file"

export type Described = {
  readonly from: readonly Source[]
  readonly hint: string
  readonly help: string
  /** All that it may be, where that is little. */
  readonly of?: readonly string[]
}

/** All that some of them may be. */
export const logLevels = ["trace", "debug", "info", "warning", "error", "fatal"] as const
export const logFormats = ["text", "json"] as const
/** Where certificates come from that nobody has to look after. */
export const tlsKinds = ["acme", "internal"] as const
/** Which ciphers of TLS 1.2 are accepted. */
export const tlsCipherKinds = ["strict", "compatible"] as const
/** How an authority is shown that a name leads here. */
export const acmeChallenges = ["http-01", "tls-alpn-01"] as const

/** Where each key may be given (every key in the environment), and what it means to the reader. */
export const described = {
  data: {
    from: ["flag", "env"],
    hint: "DIR",
    help: "Folder that holds everything (default: latchkey-data)",
  },
  config: {
    from: ["flag", "env"],
    hint: "FILE",
    help: "Configuration (default: latchkey.toml in the data folder)",
  },
  listen: {
    from: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Where to serve HTTP (default: 127.0.0.1:8080; :8080 for all interfaces, or unix:PATH)",
  },
  tlsCert: {
    from: ["flag", "env", "file"],
    hint: "FILES",
    help: "Certificates for HTTPS there, each with its chain; read again when they change",
  },
  tlsKey: {
    from: ["flag", "env", "file"],
    hint: "FILES",
    help: "The keys of the certificates, in the same order",
  },
  tls: {
    from: ["flag", "env", "file"],
    hint: "KIND",
    help: "acme or internal: certificates for HTTPS there by themselves, public or of our own",
    of: tlsKinds,
  },
  tlsCiphers: {
    from: ["flag", "env", "file"],
    hint: "KIND",
    help: "strict: TLS 1.2 with ECDHE and AEAD only (default); compatible: older ciphers, too",
    of: tlsCipherKinds,
  },
  acmeDirectory: {
    from: ["flag", "env", "file"],
    hint: "URL",
    help: "The authority's ACME directory (default: that of Let's Encrypt)",
  },
  acmeChallenge: {
    from: ["flag", "env", "file"],
    hint: "KIND",
    help: "What the authority looks at: http-01, port 80 (default), or tls-alpn-01, port 443",
    of: acmeChallenges,
  },
  acmeEmail: {
    from: ["flag", "env", "file"],
    hint: "ADDRESS",
    help: "Where the authority may write to about the certificates",
  },
  acmeTerms: {
    from: ["flag", "env", "file"],
    hint: "agreed",
    help: "agreed: you have read the authority's terms of service and agree to them",
    of: ["agreed"],
  },
  acmeRoot: {
    from: ["flag", "env", "file"],
    hint: "FILE",
    help: "Root certificates that the directory is trusted by, where it is a private one",
  },
  redirectListen: {
    from: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Where to send plain HTTP on to HTTPS, such as :80 (default: nowhere)",
  },
  grpcListen: {
    from: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Where to serve gRPC (default: 127.0.0.1:8081)",
  },
  metricsListen: {
    from: ["flag", "env", "file"],
    hint: "HOST:PORT",
    help: "Where to serve metrics for Prometheus (default: nowhere)",
  },
  traces: {
    from: ["flag", "env", "file"],
    hint: "URL",
    help: "What takes traces by OTLP over HTTP, http://127.0.0.1:4318/v1/traces (default: nothing)",
  },
  traceShare: {
    from: ["flag", "env", "file"],
    hint: "SHARE",
    help: "Which part of the requests is traced, such as 0.1 (default: 1)",
  },
  workers: {
    from: ["flag", "env", "file"],
    hint: "COUNT",
    help: "Processes that answer together, one for each core that they may use (default: 1)",
  },
  database: {
    from: ["flag", "env", "file"],
    hint: "URL",
    help: "A PostgreSQL that has the log, postgres://… (default: the log is in the data folder)",
  },
  publicUrl: {
    from: ["flag", "env", "file"],
    hint: "URL",
    help: "The address people use, when it is not the one set at set-up",
  },
  // Not a flag: every user of the machine can read the flags of a process.
  masterKey: { from: ["env", "file"], hint: "KEY", help: "Master key, 32 bytes in base64" },
  masterKeyFile: {
    from: ["flag", "env", "file"],
    hint: "FILE",
    help: "Where the master key is (default: master.key in the data folder)",
  },
  trustedProxies: {
    from: ["flag", "env", "file"],
    hint: "LIST",
    help: "Proxies whose forwarded headers count, such as 10.0.0.0/8,fd00::/8",
  },
  auditRetentionDays: {
    from: ["flag", "env", "file"],
    hint: "DAYS",
    help: "How long the records of issued tokens and the like are kept (default: 90)",
  },
  auditCollector: {
    from: ["flag", "env", "file"],
    hint: "URL",
    help: "Where to send all that happens, sealed, as JSON lines (default: nowhere)",
  },
  // Not a flag, as the master key.
  auditCollectorAuthorization: {
    from: ["env", "file"],
    hint: "VALUE",
    help: "The Authorization that the collector wants",
  },
  backupFolder: {
    from: ["flag", "env", "file"],
    hint: "PLACE",
    help: "Where to make a backup now and then, a folder or s3://BUCKET/PREFIX (default: nowhere)",
  },
  backupEveryHours: {
    from: ["flag", "env", "file"],
    hint: "HOURS",
    help: "How often (default: 24)",
  },
  backupKeep: {
    from: ["flag", "env", "file"],
    hint: "COUNT",
    help: "How many of them to keep (default: 14)",
  },
  backupRecipient: {
    from: ["flag", "env", "file"],
    hint: "AGE1…",
    help: "Encrypt them (age) for who has this public key's other",
  },
  s3Endpoint: {
    from: ["flag", "env", "file"],
    hint: "URL",
    help: "The storage that s3:// means, such as https://s3.example.com (default: Amazon's)",
  },
  s3Region: {
    from: ["flag", "env", "file"],
    hint: "NAME",
    help: "Its region (default: us-east-1)",
  },
  s3KeyId: {
    from: ["flag", "env", "file"],
    hint: "ID",
    help: "The access key that it knows us by",
  },
  // Not a flag, as the master key.
  s3Secret: { from: ["env", "file"], hint: "KEY", help: "The secret of the access key" },
  s3SecretFile: {
    from: ["flag", "env", "file"],
    hint: "FILE",
    help: "The file that has the secret of the access key",
  },
  apply: {
    from: ["flag", "env", "file"],
    hint: "PATH",
    help: "Files that describe what the first instance is made at each start (default: none)",
  },
  // A table: in the environment it is JSON, and a flag has no room for it.
  systemUsers: {
    from: ["env", "file"],
    hint: "TABLE",
    help: "Who may manage instances: their names, public keys and roles",
  },
  limits: {
    from: ["flag", "env", "file"],
    hint: "TIMES",
    help: "How many times the usual one address may try and fail (default: 1; off for no limits)",
  },
  drainSeconds: {
    from: ["flag", "env", "file"],
    hint: "SECONDS",
    help: "How long to answer after SIGTERM, not ready (default: 3 with a database, otherwise 0)",
  },
  outboundAllow: {
    from: ["flag", "env", "file"],
    hint: "LIST",
    help: "Places of a local network that may be called, such as 10.1.0.0/16,app.internal",
  },
  mailAllow: {
    from: ["flag", "env", "file"],
    hint: "LIST",
    help: "Mail servers of a local network that one instance may use, such as 1=mail.lan:587",
  },
  transferFolder: {
    from: ["flag", "env", "file"],
    hint: "DIR",
    help: "Folder with the files that exports and imports by the API may name (default: none)",
  },
  logLevel: {
    from: ["flag", "env", "file"],
    hint: "LEVEL",
    help: logLevels.join(", "),
    of: logLevels,
  },
  logFormat: {
    from: ["flag", "env", "file"],
    hint: "FORMAT",
    help: "text or json",
    of: logFormats,
  },
} as const satisfies Readonly<Record<string, Described>>
