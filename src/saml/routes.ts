import { providerIdOfPath } from "../domain/idp/index.ts"
import type { Refusal } from "../domain/refusal/index.ts"
import { createArea, type Route } from "../http/route.ts"
import { Fault } from "../kernel/fault.ts"
import { type ShowPage, showError, showFault } from "../login/index.ts"
import { callback } from "./endpoint/callback.ts"
import type { Endpoint, EndpointContext } from "./endpoint/endpoint.ts"
import { certificate, metadata } from "./endpoint/metadata.ts"
import { providerSlo } from "./endpoint/provider-slo.ts"
import { slo } from "./endpoint/slo.ts"
import { sso } from "./endpoint/sso.ts"
import { paths } from "./path.ts"
import { recordFault } from "./rejected-request.ts"

export type SamlParts = {
  readonly show: ShowPage
  /** Called for each rejected request, with the reason and the group of its route in metrics. */
  readonly onRejected: (refusal: Refusal, group: string) => void
}

/** The SAML endpoints. */
export function samlRoutes(parts: SamlParts) {
  const own = (endpoint: Endpoint): Route => routeOf(parts, "saml", endpoint)
  return createArea("saml", {
    [paths.metadata]: own(metadata),
    [paths.certificate]: own(certificate),
    [paths.sso]: own(sso),
    [paths.callback]: own(callback),
    [paths.slo]: own(slo),
    "/saml/*": {},
    "/idps/:id/saml/slo": {
      ...routeOf(parts, "login", providerSlo),
      isSignIn: true,
      exists: ({ url }) => providerIdOfPath(url.pathname) !== undefined,
    },
  })
}

const routeOf = ({ show, onRejected }: SamlParts, group: string, endpoint: Endpoint): Route => ({
  group,
  methods: endpoint.methods,
  answer: async ({ cx, request, url }) => {
    const asking: EndpointContext = {
      cx,
      request,
      url,
      show,
      onRejected: (refusal) => onRejected(refusal, group),
    }
    try {
      return await endpoint.handle(asking)
    } catch (cause) {
      const fault = cx.store.faultOf(cause)
      if (!(fault instanceof Fault)) throw cause
      if (fault.id !== "saml.refused") return showFault(show, cx, fault)
      recordFault(asking, fault)
      // No response is sent to an uncertain recipient: the user sees the problem, for the
      // administrator.
      return showError(show, cx, { problem: "invalid_request", detail: `${fault.message}.` })
    }
  },
})
