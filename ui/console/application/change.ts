import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  Application,
  OIDCConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import type { UpdateOIDCApplicationConfigurationRequestSchema } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import type { Core } from "../core.ts"
import type { Changed, Readings } from "../load.ts"

export type OidcChange = MessageInitShape<typeof UpdateOIDCApplicationConfigurationRequestSchema>

/** What every part of an application's page is handed. */
export type ApplicationPart = {
  readonly application: Application
  readonly onChanged: Changed
}

/** What keeps a list of its own, which is read again with the rest of the page. */
export type Observed = {
  readonly application: Application
  readonly readings: Readings
}

/** The same, for what only OpenID Connect applications have. */
export type OidcPart = ApplicationPart & { readonly oidc: OIDCConfiguration }

/** Changes what is given; lists that are left out, or empty, stay as they are. */
export async function changeOidc(core: Core, { application }: OidcPart, value: OidcChange) {
  const { applicationId, projectId, name } = application
  const applicationType = { case: "oidcConfiguration", value } as const
  await core.applications.updateApplication({ applicationId, projectId, name, applicationType })
}
