import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { readCertificates } from "../edge/certificate.ts"
import { type Finding, ok, warning, wrong } from "./finding.ts"

const dayMs = 86_400_000
const daysMin = 14

/** The files of the certificates: a server that runs goes on with the last that it could use. */
export function checkFiles(config: Config, now: number): readonly Finding[] {
  try {
    return readCertificates(config).map(({ names, ends }) => {
      const days = Math.floor((ends - now) / dayMs)
      const said = `the file of ${names.join(", ") || "no host"} is good for ${days} days`
      if (days < 0) return wrong("tls", `${said}: it has ended`, "renew the certificate")
      return days < daysMin ? warning("tls", said, "see why nobody renews it") : ok("tls", said)
    })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [wrong("tls", cause.message, "put files there that belong together")]
  }
}
