import { historyOf } from "../../store/index.ts"
import { toAccess } from "./binding/v2-access.ts"
import { toOidc } from "./binding/v2-oidc.ts"
import { toSaml } from "./binding/v2-saml.ts"
import { type App, app } from "./model.ts"

/** Defaults of the forward-auth settings. */
const forwardAuth = { rules: [], remoteUser: "login_name", tokenForwarded: false }

function configurationOf(state: App): object {
  if ("oidc" in state) return { oidcConfiguration: { forwardAuth, ...toOidc("", state.oidc, "") } }
  if ("saml" in state) {
    // Metadata that was fetched from a URL may have changed there since.
    const { metadataUrl: _, ...saml } = toSaml(state.saml)
    return { samlConfiguration: saml }
  }
  if (!("api" in state)) return {}
  const { authMethod, resources: uris = [], scopes = [] } = state.api
  return {
    apiConfiguration: { authMethodType: authMethod, resources: { uris }, scopes: { scopes } },
  }
}

export const appHistory = historyOf(app, {
  hidden: ["kind", "registration.used", "registration.identity"],
  operations: "core.application.v2.ApplicationService/*Application",
  target: ({ id, now }) => ({
    applicationId: id,
    projectId: "projectId" in now ? now.projectId : "",
  }),
  present: (state) => ({ ...state, access: toAccess(state), ...configurationOf(state) }),
  undo: {
    "project.application.access.changed": ({ before }) => [
      "UpdateApplication",
      { access: toAccess(before) },
    ],
    // The API requires the authentication method.
    "project.application.config.api.changed": ({ before }) => [
      "UpdateApplication",
      configurationOf(before),
    ],
  },
  noUndo: {
    registration: ["project.application.registered", "project.application.registration.changed"],
    fact: ["project.application.used"],
    secret: ["*.secret.*", "*.key.*"],
  },
})
