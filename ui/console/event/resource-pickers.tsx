import { useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import { OrganizationFieldName } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { UserFieldName } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Chips, Person } from "../../kit/index.ts"
import { Picker } from "../list/index.ts"
import { t } from "../shell/index.ts"
import { loginNameOf, nameOf } from "../user/user.ts"
import { namedLike } from "../user/user-query.ts"
import type { PickedResource } from "./picker-field.tsx"

type PickersProps = { readonly choose: (picked: PickedResource) => void }

type Row = PickedResource & { readonly detail: string }

const few = 6
const query = { limit: few, asc: true }

/** What the pickers have in common; an ID is accepted where no name is found. */
const pickerOf = ({ choose }: PickersProps) => ({
  hint: t("events.pick_hint"),
  value: "",
  onChange: (_: string, row?: Row) => row && choose(row),
  otherwise: (text: string): readonly Row[] =>
    /^[\w.:-]{1,200}$/.test(text) ? [{ id: text, name: text, detail: t("events.as_id") }] : [],
  idOf: ({ id }: Row) => id,
  show: ({ name, detail }: Row) => <Person name={name} loginName={detail} />,
})

export function UserPicker({ choose }: PickersProps) {
  return (
    <Picker
      label={t("history.who")}
      {...pickerOf({ choose })}
      method={UserService.method.listUsers}
      ask={(text) => ({
        query,
        sortingColumn: UserFieldName.DISPLAY_NAME,
        queries: text ? [namedLike(text)] : [],
      })}
      find={({ result }) =>
        result.map((user) => ({
          id: user.userId,
          name: nameOf(user),
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
      {...pickerOf({ choose })}
      method={OrganizationService.method.listOrganizations}
      ask={(name) => ({
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
      {...pickerOf({ choose })}
      method={ProjectService.method.listProjects}
      ask={(projectName) => ({
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
      {...pickerOf({ choose })}
      method={ApplicationService.method.listApplications}
      ask={(name) => ({
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

/** What something happened to: of a few kinds by its name, and of every kind by its ID. */
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
