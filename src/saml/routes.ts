import { providerIn } from "../domain/idp/index.ts"
import type { Refusal } from "../domain/refusal/index.ts"
import { areaOf, type Route } from "../http/route.ts"
import { Fault } from "../kernel/fault.ts"
import { type ShowPage, showFault, showTrouble } from "../login/index.ts"
import { callback } from "./endpoint/callback.ts"
import type { Asking, Endpoint } from "./endpoint/endpoint.ts"
import { certificate, metadata } from "./endpoint/metadata.ts"
import { providerSlo } from "./endpoint/provider-slo.ts"
import { slo } from "./endpoint/slo.ts"
import { sso } from "./endpoint/sso.ts"
import { paths } from "./path.ts"
import { recordFault } from "./refusal.ts"

export type SamlParts = {
  readonly show: ShowPage
  /** Learns of each request that was refused, why, and what metrics count its route as. */
  readonly refused: (refusal: Refusal, group: string) => void
}

/** What speaks SAML. */
export function samlRoutes(parts: SamlParts) {
  const own = (endpoint: Endpoint): Route => routeOf(parts, "saml", endpoint)
  return areaOf("saml", {
    [paths.metadata]: own(metadata),
    [paths.certificate]: own(certificate),
    [paths.sso]: own(sso),
    [paths.callback]: own(callback),
    [paths.slo]: own(slo),
    "/saml/*": {},
    "/idps/:id/saml/slo": {
      ...routeOf(parts, "login", providerSlo),
      isSignIn: true,
      exists: ({ url }) => providerIn(url.pathname) !== undefined,
    },
  })
}

const routeOf = ({ show, refused }: SamlParts, group: string, endpoint: Endpoint): Route => ({
  group,
  methods: endpoint.methods,
  answer: async ({ cx, request, url }) => {
    const asking: Asking = {
      cx,
      request,
      url,
      show,
      refused: (refusal) => refused(refusal, group),
    }
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
  },
})
