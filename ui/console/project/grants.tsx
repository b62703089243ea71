import { useState } from "react"
import {
  type Project,
  type ProjectGrant,
  ProjectGrantState,
} from "../../../src/gen/core/project/v2/project_pb.ts"
import { Badges } from "../badges.tsx"
import { Collection, type FormPart } from "../collection.tsx"
import type { Core } from "../core.ts"
import { DialogForm } from "../form.tsx"
import { useHouse } from "../house.ts"
import type { Asked } from "../listing.tsx"
import type { Readings } from "../load.ts"
import { OrganizationPicker } from "../organization-picker.tsx"
import { StateBadge } from "../state-badge.tsx"
import { RoleChecks } from "./role-checks.tsx"

type GrantsProps = { readonly project: Project; readonly readings: Readings }

/** Which other organisations may use a project for their people, and give which of its roles. */
export function Grants({ project, readings }: GrantsProps) {
  const { t, core } = useHouse()
  const { projectId } = project
  const of = ({ grantedOrganizationId }: ProjectGrant) => ({ projectId, grantedOrganizationId })
  return (
    <Collection
      family="grants"
      scope={projectId}
      readings={readings}
      read={(asked, signal) => readGrants(core, { ...asked, projectId }, signal)}
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
      form={(grant, part) =>
        grant ? <Edit {...{ project, grant }} {...part} /> : <Create project={project} {...part} />
      }
      turn={{
        isOn,
        act: (row, on) =>
          on
            ? core.projects.activateProjectGrant(of(row))
            : core.projects.deactivateProjectGrant(of(row)),
      }}
      remove={(row) => core.projects.deleteProjectGrant(of(row))}
    />
  )
}

const isOn = ({ state }: ProjectGrant) => state !== ProjectGrantState.INACTIVE

const nameOf = ({ grantedOrganizationName, grantedOrganizationId }: ProjectGrant) =>
  grantedOrganizationName || grantedOrganizationId

type Wanted = Asked & { readonly projectId: string }

/** Grants are not searched by the name of who has them: what is shown is chosen here. */
async function readGrants(core: Core, { projectId, text, ...page }: Wanted, signal: AbortSignal) {
  const own = { ids: [projectId] }
  const filter = { case: "inProjectIdsFilter", value: own } as const
  const pagination = text ? { limit: 1000, asc: true } : { ...page, asc: true }
  const request = { pagination, filters: [{ filter }] }
  const answer = await core.projects.listProjectGrants(request, { signal })
  const { projectGrants: all } = answer
  if (text === "") return { rows: all, total: Number(answer.pagination?.totalResult ?? all.length) }
  const wanted = text.toLowerCase()
  const rows = all.filter((row) => nameOf(row).toLowerCase().includes(wanted))
  const from = Number(page.offset)
  return { rows: rows.slice(from, from + page.limit), total: rows.length }
}

function Create({ project, ...part }: FormPart & Pick<GrantsProps, "project">) {
  const { t, core } = useHouse()
  const { projectId, organizationId } = project
  const [grantedOrganizationId, setGranted] = useState("")
  const [roleKeys, setRoleKeys] = useState<readonly string[]>([])
  const save = () => {
    const wanted = { projectId, grantedOrganizationId, roleKeys: [...roleKeys] }
    return core.projects.createProjectGrant(wanted)
  }
  const title = t("grants.create")
  const disabled = grantedOrganizationId === ""
  return (
    <DialogForm title={title} submit={title} disabled={disabled} save={save} {...part}>
      <OrganizationPicker
        except={organizationId}
        value={grantedOrganizationId}
        onChange={setGranted}
      />
      <RoleChecks {...{ project, values: roleKeys, onChange: setRoleKeys }} />
    </DialogForm>
  )
}

type EditProps = FormPart & Pick<GrantsProps, "project"> & { readonly grant: ProjectGrant }

function Edit({ project, grant, ...part }: EditProps) {
  const { core } = useHouse()
  const { projectId, grantedOrganizationId, grantedRoleKeys } = grant
  const [roleKeys, setRoleKeys] = useState<readonly string[]>(grantedRoleKeys)
  const save = () => {
    const wanted = { projectId, grantedOrganizationId, roleKeys: [...roleKeys] }
    return core.projects.updateProjectGrant(wanted)
  }
  return (
    <DialogForm title={nameOf(grant)} save={save} {...part}>
      <RoleChecks {...{ project, values: roleKeys, onChange: setRoleKeys }} />
    </DialogForm>
  )
}
