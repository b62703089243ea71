import type { Start } from "../../boot/running.ts"
import type { ServerServices } from "../services.ts"
import { acmeIssuer, isPublicName } from "./acme/issuer.ts"
import { secureHosts } from "./hosts.ts"
import { openShelf, ownCertificates } from "./own-certificates.ts"

const challengePath = "/.well-known/acme-challenge/"

/** Certificates that come by themselves; read where the configuration wants them. */
export async function ownSource(
  services: ServerServices,
  { config, folder }: Pick<Start, "config" | "folder">,
) {
  const shelf = openShelf(folder, services)
  const challenges = new Map<string, string>()
  const issuer = acmeIssuer(config, { clock: services.clock, shelf, challenges })
  const hosts = () => secureHosts(services).filter(isPublicName)
  return {
    ...(await ownCertificates(services, shelf, { issuer, hosts })),
    plain: (request: Request) => answeredPlain(challenges, request),
  }
}

/** RFC 8555 §8.3: whoever asks for a token is told whose it is, and may be anybody. */
export function answeredPlain(
  challenges: ReadonlyMap<string, string>,
  { url }: Request,
): Response | undefined {
  const pathname = URL.parse(url)?.pathname ?? ""
  if (!pathname.startsWith(challengePath)) return undefined
  const answer = challenges.get(pathname.slice(challengePath.length))
  const headers = { "content-type": "application/octet-stream", "cache-control": "no-store" }
  return new Response(answer ?? null, { status: answer === undefined ? 404 : 200, headers })
}
