import type { MessageInitShape } from "@bufbuild/protobuf"
import { GroupsClaim, PrivateLabelingSetting } from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  ProjectService,
  type UpdateProjectRequestSchema,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { SelectField } from "../../kit/select.tsx"
import { Switch } from "../form/switch.tsx"
import { call, useAction } from "../shell/call.ts"
import { Section } from "../shell/detail.tsx"
import { useMay } from "../shell/permission.ts"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"
import type { ProjectPart } from "./part.ts"

type Change = Extract<
  MessageInitShape<typeof UpdateProjectRequestSchema>,
  { readonly $typeName?: never }
>

const switches = ["projectRoleAssertion", "authorizationRequired", "projectAccessRequired"] as const

/** Who may sign in to the applications of a project, and what those learn of roles. */
export function Rules({ project }: ProjectPart) {
  const { t } = useText()
  const { projectId } = project
  const change = (wanted: Change) =>
    call(ProjectService.method.updateProject, { ...wanted, projectId })
  return (
    <Section title={t("rules.title")}>
      <div className="checks">
        {switches.map((name) => (
          <Switch
            key={name}
            needs={ProjectService.method.updateProject}
            label={t(`rules.${name}`)}
            hint={t(`rules.${name}.hint`)}
            on={project[name]}
            {...(name !== "projectRoleAssertion" && { asks: t(`rules.${name}.asks`) })}
            act={(on) => change({ [name]: on })}
          />
        ))}
      </div>
      <OneOf
        of="groups"
        label={(name) => t(`rules.groups.${name}`)}
        options={claims}
        current={project.groupsClaim}
        change={(name: keyof typeof claims) => change({ groupsClaim: claims[name] })}
      />
      <OneOf
        of="look"
        label={(name) => t(`rules.look.${name}`)}
        options={looks}
        current={project.privateLabelingSetting}
        change={(name: keyof typeof looks) => change({ privateLabelingSetting: looks[name] })}
      />
    </Section>
  )
}

/** Many programs read roles from a plain list only. */
const claims = {
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const

/** Whose look the pages have on the way to the applications. */
const looks = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  person: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const

type OneOfProps<Name extends string> = {
  readonly of: "groups" | "look"
  readonly label: (name: Name) => string
  readonly options: Readonly<Record<Name, number>>
  readonly current: number
  readonly change: (chosen: Name) => Promise<unknown>
}

/** One of several, that counts at once. */
function OneOf<Name extends string>({ of, label, options, current, change }: OneOfProps<Name>) {
  const { t } = useText()
  const may = useMay()
  const action = useAction(change)
  const names = namesOf(options)
  const [first] = names
  const chosen = names.find((name) => options[name] === current) ?? first
  if (chosen === undefined) return null
  return (
    <div className="form">
      <SelectField
        label={t(`rules.${of}`)}
        hint={t(`rules.${of}.hint`)}
        options={names.map((value) => ({ value, label: label(value) }))}
        value={chosen}
        disabled={!may(ProjectService.method.updateProject)}
        onChange={action.run}
      />
      <Refused refusal={action.refusal} />
    </div>
  )
}

function namesOf<Name extends string>(options: Readonly<Record<Name, number>>): readonly Name[]
function namesOf(options: object): readonly string[] {
  return Object.keys(options)
}
