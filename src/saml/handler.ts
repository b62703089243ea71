import { Fault } from "../kernel/fault.ts"
import { showFault, showTrouble } from "../login/index.ts"
import { methodNotAllowed } from "../oauth/index.ts"
import type { Cx } from "../store/index.ts"
import { callback } from "./endpoint/callback.ts"
import type { Asking, Endpoint } from "./endpoint/endpoint.ts"
import { certificate, metadata } from "./endpoint/metadata.ts"
import { providerOfPath, providerSlo } from "./endpoint/provider-slo.ts"
import { slo } from "./endpoint/slo.ts"
import { sso } from "./endpoint/sso.ts"
import { paths } from "./path.ts"
import { recordFault } from "./refusal.ts"

const endpoints: ReadonlyMap<string, Endpoint> = new Map([
  [paths.metadata, metadata],
  [paths.certificate, certificate],
  [paths.sso, sso],
  [paths.callback, callback],
  [paths.slo, slo],
])

function endpointAt(path: string): Endpoint | undefined {
  const provider = providerOfPath(path)
  return provider === undefined ? endpoints.get(path) : providerSlo(provider)
}

/** Serves what speaks SAML; undefined for paths that aren't its own. */
export const samlHandler =
  ({ show, refused }: Pick<Asking, "show" | "refused">) =>
  async (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const endpoint = endpointAt(url.pathname)
    if (!endpoint) return undefined
    const method = request.method === "HEAD" ? "GET" : request.method
    if (!endpoint.methods.some((known) => known === method)) {
      return methodNotAllowed(endpoint.methods)
    }
    const asking = { show, refused, request, cx, url }
    try {
      return await endpoint.answer(asking)
    } catch (cause) {
      const fault = cx.store.faultOf(cause)
      if (!(fault instanceof Fault)) throw cause
      if (fault.id !== "saml.refused") return showFault(show, cx, fault)
      recordFault(asking, fault)
      // Nobody is answered whom we can't be sure of: the person sees it, for who has set it up.
      return showTrouble(show, cx, { problem: "invalid_request", detail: `${fault.message}.` })
    }
  }
