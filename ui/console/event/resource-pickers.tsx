import { useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import { OrganizationFieldName } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { UserFieldName } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Chips, UserSummary } from "../../kit/index.ts"
import { Picker } from "../list/index.ts"
import { t } from "../shell/index.ts"
import { displayNameOf, loginNameOf } from "../user/user.ts"
import { nameQueries } from "../user/user-query.ts"
import type { PickedResource } from "./picker-field.tsx"

type PickersProps = { readonly choose: (picked: PickedResource) => void }

type Row = PickedResource & { readonly detail: string }

const resultsMax = 6
const query = { limit: resultsMax, asc: true }

/** Shared options of the pickers; an ID is accepted if no name matches. */
const pickerProps = ({ choose }: PickersProps) => ({
  hint: t("events.pick_hint"),
  value: "",
  onChange: (_: string, row?: Row) => row && choose(row),
  fallback: (text: string): readonly Row[] =>
    /^[\w.:-]{1,200}$/.test(text) ? [{ id: text, name: text, detail: t("events.as_id") }] : [],
  idOf: ({ id }: Row) => id,
  show: ({ name, detail }: Row) => <UserSummary name={name} loginName={detail} />,
})

export function UserPicker({ choose }: PickersProps) {
  return (
    <Picker
      label={t("history.who")}
      {...pickerProps({ choose })}
      method={UserService.method.listUsers}
      toRequest={(text) => ({
        query,
        sortingColumn: UserFieldName.DISPLAY_NAME,
        queries: text ? [nameQueries(text)] : [],
      })}
      find={({ result }) =>
        result.map((user) => ({
          id: user.userId,
          name: displayNameOf(user),
          detail: loginNameOf(user),
        }))
      }
    />
  )
}

function OrganizationPicker({ choose }: PickersProps) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  return (
    <Picker
      label={t("nav.organizations")}
      {...pickerProps({ choose })}
      method={OrganizationService.method.listOrganizations}
      toRequest={(name) => ({
        query,
        sortingColumn: OrganizationFieldName.NAME,
        queries: name ? [{ query: { case: "nameQuery", value: { name, method } } as const }] : [],
      })}
      find={({ result }) => result.map(({ id, name }) => ({ id, name, detail: id }))}
    />
  )
}

function ProjectPicker({ choose }: PickersProps) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  return (
    <Picker
      label={t("nav.projects")}
      {...pickerProps({ choose })}
      method={ProjectService.method.listProjects}
      toRequest={(projectName) => ({
        pagination: query,
        filters: projectName
          ? [{ filter: { case: "projectNameFilter", value: { projectName, method } } as const }]
          : [],
      })}
      find={({ projects }) =>
        projects
          .filter(({ grantedOrganizationId }) => grantedOrganizationId === undefined)
          .map(({ projectId: id, name }) => ({ id, name, detail: id }))
      }
    />
  )
}

function ApplicationPicker({ choose }: PickersProps) {
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  return (
    <Picker
      label={t("nav.applications")}
      {...pickerProps({ choose })}
      method={ApplicationService.method.listApplications}
      toRequest={(name) => ({
        pagination: query,
        filters: name ? [{ filter: { case: "nameFilter", value: { name, method } } as const }] : [],
      })}
      find={({ applications }) =>
        applications.map(({ applicationId: id, name }) => ({ id, name, detail: id }))
      }
    />
  )
}

const resources = {
  users: UserPicker,
  organizations: OrganizationPicker,
  projects: ProjectPicker,
  applications: ApplicationPicker,
} as const
const resourceNames = ["users", "organizations", "projects", "applications"] as const

/** Picks the resource of events: common kinds by name, every kind by ID. */
export function ResourcePicker({ choose }: PickersProps) {
  const [kind, setKind] = useState<(typeof resourceNames)[number]>("users")
  const Resource = resources[kind]
  return (
    <>
      <Chips
        legend={t("events.kind")}
        name="resource-kind"
        options={resourceNames.map((value) => ({ value, label: t(`nav.${value}`) }))}
        value={kind}
        onChange={setKind}
      />
      <Resource key={kind} choose={choose} />
    </>
  )
}
