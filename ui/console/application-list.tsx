import {
  type Application,
  ApplicationSorting,
  ApplicationState,
  OIDCApplicationType,
} from "../../src/gen/core/application/v2/application_pb.ts"
import { TextFilterMethod } from "../../src/gen/core/filter/v2/filter_pb.ts"
import type { Column } from "../kit/table.tsx"
import type { House } from "./house.ts"
import { Link } from "./link.tsx"
import type { Asked } from "./listing.tsx"
import { StateBadge } from "./state-badge.tsx"
import { Time } from "./time.tsx"

type Wanted = Asked & {
  readonly projectId?: string
  readonly state?: ApplicationState
}

/** Applications of one project, or of all that one may see. */
export async function readApplications({ core }: House, wanted: Wanted, signal: AbortSignal) {
  const { text, offset, limit, projectId, state } = wanted
  const named = { name: text, method: TextFilterMethod.CONTAINS_IGNORE_CASE }
  const within = { projectId: projectId ?? "" }
  const filters = [
    ...(projectId ? [{ filter: { case: "projectIdFilter", value: within } as const }] : []),
    ...(text ? [{ filter: { case: "nameFilter", value: named } as const }] : []),
    ...(state ? [{ filter: { case: "stateFilter", value: state } as const }] : []),
  ]
  const sortingColumn = ApplicationSorting.APPLICATION_SORT_BY_NAME
  const request = { pagination: { offset, limit, asc: true }, sortingColumn, filters }
  const { applications, pagination } = await core.applications.listApplications(request, { signal })
  return { rows: applications, total: Number(pagination?.totalResult ?? applications.length) }
}

export const applicationColumns = ({ t }: House): readonly Column<Application>[] => [
  {
    label: t("field.name"),
    cell: ({ applicationId, name }) => (
      <Link className="row-link" to={{ page: "application", applicationId }}>
        {name}
      </Link>
    ),
  },
  { label: t("field.kind"), cell: (application) => t(`kind.${kindOf(application)}`) },
  {
    label: t("field.state"),
    cell: (application) => <StateBadge state={isActive(application) ? "active" : "inactive"} />,
  },
  { label: t("field.changed"), cell: ({ changeDate }) => <Time at={changeDate} /> },
]

export const isActive = (application: Application) =>
  application.state !== ApplicationState.INACTIVE

export type ApplicationKind = "web" | "native" | "user_agent" | "api" | "saml"

export function kindOf({ configuration }: Application): ApplicationKind {
  if (configuration.case === "apiConfiguration") return "api"
  if (configuration.case === "samlConfiguration") return "saml"
  switch (configuration.value?.applicationType) {
    case OIDCApplicationType.OIDC_APP_TYPE_NATIVE:
      return "native"
    case OIDCApplicationType.OIDC_APP_TYPE_USER_AGENT:
      return "user_agent"
    default:
      return "web"
  }
}
