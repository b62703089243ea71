import {
  type Project,
  type ProjectGrant,
  ProjectGrantState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  type ListProjectGrantsResponse,
  ProjectService,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { DialogForm } from "../form/form.tsx"
import { formId } from "../form/open.ts"
import { useForm } from "../form/use-form.ts"
import { Badges } from "../list/badges.tsx"
import { Collection } from "../list/collection.tsx"
import { type Asked, found, pageOf } from "../list/listing.tsx"
import { StateBadge } from "../list/state-badge.tsx"
import { OrganizationPicker } from "../organization/organization-picker.tsx"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"
import { RoleChecks } from "./role-checks.tsx"

type GrantsProps = { readonly project: Project }

const { activateProjectGrant, deactivateProjectGrant, deleteProjectGrant, listProjectGrants } =
  ProjectService.method

/** Which other organisations may use a project for their people, and give which of its roles. */
export function Grants({ project }: GrantsProps) {
  const { t } = useText()
  const { projectId } = project
  const of = ({ grantedOrganizationId }: ProjectGrant) => ({ projectId, grantedOrganizationId })
  const ids = { ids: [projectId] }
  const own = { case: "inProjectIdsFilter", value: ids } as const
  return (
    <Collection
      family="grants"
      method={listProjectGrants}
      // Grants are not searched by the name of who has them: what is shown is chosen here.
      ask={(asked) => ({
        pagination: asked.text ? { limit: 1000, asc: true } : pageOf(asked),
        filters: [{ filter: own }],
      })}
      find={named}
      columns={[
        { label: t("nav.organization"), cell: nameOf },
        { label: t("roles.title"), cell: (row) => <Badges words={row.grantedRoleKeys} /> },
        {
          label: t("field.state"),
          cell: (row) => <StateBadge state={isOn(row) ? "active" : "inactive"} />,
        },
      ]}
      keyOf={({ grantedOrganizationId }) => grantedOrganizationId}
      nameOf={nameOf}
      form={(grant, close) =>
        grant ? <Edit {...{ project, grant, close }} /> : <Create {...{ project, close }} />
      }
      needs={{
        create: ProjectService.method.createProjectGrant,
        edit: ProjectService.method.updateProjectGrant,
        remove: deleteProjectGrant,
      }}
      turn={{
        needs: deactivateProjectGrant,
        isOn,
        off: t("grants.deactivate_text"),
        act: (row, on) =>
          on ? call(activateProjectGrant, of(row)) : call(deactivateProjectGrant, of(row)),
      }}
      remove={(row) => call(deleteProjectGrant, of(row))}
    />
  )
}

const isOn = ({ state }: ProjectGrant) => state !== ProjectGrantState.INACTIVE

const nameOf = ({ grantedOrganizationName, grantedOrganizationId }: ProjectGrant) =>
  grantedOrganizationName || grantedOrganizationId

function named({ projectGrants, pagination }: ListProjectGrantsResponse, asked: Asked) {
  if (asked.text === "") return found(projectGrants, pagination)
  const wanted = asked.text.toLowerCase()
  const fitting = projectGrants.filter((row) => nameOf(row).toLowerCase().includes(wanted))
  const from = Number(asked.offset)
  return { rows: fitting.slice(from, from + asked.limit), total: fitting.length }
}

type FormProps = GrantsProps & { readonly close: () => void }

type Values = { readonly granted: string; readonly roleKeys: readonly string[] }

function Create({ project, close }: FormProps) {
  const { t } = useText()
  const { projectId, organizationId } = project
  const form = useForm<Values>({
    id: formId("grants", "+"),
    initial: { granted: "", roleKeys: [] },
    save: ({ granted, roleKeys }) =>
      call(ProjectService.method.createProjectGrant, {
        projectId,
        grantedOrganizationId: granted,
        roleKeys: [...roleKeys],
      }),
    done: close,
  })
  const { values, change } = form
  const title = t("grants.create")
  const disabled = values.granted === ""
  return (
    <DialogForm {...{ title, disabled, form }} submit={title} onCancel={close}>
      <OrganizationPicker
        except={organizationId}
        value={values.granted}
        onChange={(granted) => change({ granted })}
      />
      <RoleChecks
        project={project}
        values={values.roleKeys}
        onChange={(roleKeys) => change({ roleKeys })}
      />
    </DialogForm>
  )
}

function Edit({ project, grant, close }: FormProps & { readonly grant: ProjectGrant }) {
  const { projectId, grantedOrganizationId, grantedRoleKeys } = grant
  const form = useForm<Pick<Values, "roleKeys">>({
    id: formId("grants", grantedOrganizationId),
    initial: { roleKeys: grantedRoleKeys },
    save: ({ roleKeys }) =>
      call(ProjectService.method.updateProjectGrant, {
        projectId,
        grantedOrganizationId,
        roleKeys: [...roleKeys],
      }),
    done: close,
  })
  return (
    <DialogForm title={nameOf(grant)} form={form} onCancel={close}>
      <RoleChecks
        project={project}
        values={form.values.roleKeys}
        onChange={(roleKeys) => form.change({ roleKeys })}
      />
    </DialogForm>
  )
}
