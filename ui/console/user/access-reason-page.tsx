import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import {
  type EntryCheck,
  EntryCondition,
  type EntryRoles,
  type GetPermissionReasonResponse,
  HistoryService,
  type Holding,
  Reason,
} from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { InternalPermissionService } from "../../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Alert, Button, SelectField, Table, TextField } from "../../kit/index.ts"
import { SearchForm, verbatim } from "../form/index.ts"
import { Badges, Picker, Time } from "../list/index.ts"
import {
  Page,
  PagePart,
  Section,
  t,
  useRead,
  useReadIfAllowed,
  useSelectOwner,
} from "../shell/index.ts"
import { displayNameOf, type UserPart } from "./user.ts"

const { getUserByID } = UserService.method
const { getPermissionReason, getEntryReason } = HistoryService.method

/** Explains why a user has a permission or not, evaluated by the server. */
export function AccessReasonPage() {
  const { userId } = useParams({ from: "/users/$userId/why" })
  const { user } = useRead(getUserByID, { userId })
  useSelectOwner(user?.details?.resourceOwner)
  if (!user) return null
  const link = { to: "/users/$userId", params: { userId } } as const
  return (
    <Page
      title={t("why.title")}
      crumbs={[
        { label: t("nav.users"), link: { to: "/users" } },
        { label: displayNameOf(user), link },
      ]}
    >
      <p className="quiet section-lead">{t("why.lead")}</p>
      <Section title={t("why.permission_title")}>
        <PermissionCheck user={user} />
      </Section>
      {user.type.case === "human" && (
        <Section title={t("why.entry_title")}>
          <ApplicationAccess user={user} />
        </Section>
      )}
    </Page>
  )
}

const resourceKinds = ["instance", "org", "project", "app", "user", "group"] as const
type ResourceKind = (typeof resourceKinds)[number]
type PermissionQuestion = {
  readonly permission: string
  readonly resource: ResourceKind
  readonly id: string
}

const permissionsId = "why-permissions"

function PermissionCheck({ user: { userId, details } }: UserPart) {
  const home: PermissionQuestion = {
    permission: "",
    resource: "org",
    id: details?.resourceOwner ?? "",
  }
  const [typed, setTyped] = useState(home)
  const [question, setAsked] = useState<PermissionQuestion>()
  const put = (part: Partial<PermissionQuestion>) => setTyped({ ...typed, ...part })
  const { permission, resource, id } = typed
  const ask = () =>
    setAsked({
      resource,
      permission: permission.trim(),
      id: resource === "instance" ? "" : id.trim(),
    })
  return (
    <>
      <SearchForm className="form" onSearch={ask}>
        <div className="pair pair-two">
          <TextField
            label={t("why.permission")}
            {...verbatim}
            list={permissionsId}
            maxLength={100}
            autoComplete="off"
            placeholder="project.write"
            value={permission}
            onChange={(event) => put({ permission: event.target.value })}
          />
          <SelectField
            label={t("why.resource")}
            options={resourceKinds.map((value) => ({ value, label: t(`why.kind.${value}`) }))}
            value={resource}
            onChange={(kind) => put({ resource: kind })}
          />
          {resource !== "instance" && (
            <TextField
              label={t("why.id")}
              {...verbatim}
              maxLength={200}
              autoComplete="off"
              value={id}
              onChange={(event) => put({ id: event.target.value })}
            />
          )}
        </div>
        <PagePart rows={1}>
          <PermissionOptions />
        </PagePart>
        <div className="row">
          <Button type="submit" disabled={permission.trim() === ""}>
            {t("why.ask")}
          </Button>
        </div>
      </SearchForm>
      {question && (
        <PagePart key={JSON.stringify(question)}>
          <PermissionReason userId={userId} asked={question} />
        </PagePart>
      )}
    </>
  )
}

/** Suggests all permissions of any role. */
function PermissionOptions() {
  const roles = useReadIfAllowed(InternalPermissionService.method.listRoles)?.roles ?? []
  const all = [...new Set(roles.flatMap(({ permissions }) => permissions))].sort()
  return (
    <datalist id={permissionsId}>
      {all.map((permission) => (
        <option key={permission} value={permission} />
      ))}
    </datalist>
  )
}

type ReasonProps = { readonly userId: string; readonly asked: PermissionQuestion }

function PermissionReason({ userId, asked: { permission, resource, id } }: ReasonProps) {
  const subject = { case: "permission", value: permission } as const
  const answer = useRead(getPermissionReason, { userId, subject, resource, id })
  return (
    <div className="stack" aria-live="polite">
      <Alert tone={answer.allowed ? "done" : "warning"}>
        {t(`why.reason.${reasonName(answer)}`)}
      </Alert>
      <RoleList rows={answer.holdings} />
    </div>
  )
}

type ReasonName = "role" | "self" | "open" | "none" | "elsewhere" | "forbidden"

const reasonNames: Readonly<Record<Reason, ReasonName>> = {
  [Reason.UNSPECIFIED]: "forbidden",
  [Reason.ROLE]: "role",
  [Reason.SELF]: "self",
  [Reason.OPEN]: "open",
  [Reason.NO_PERMISSION]: "none",
  [Reason.ELSEWHERE]: "elsewhere",
  [Reason.FORBIDDEN]: "forbidden",
}

const reasonName = ({ reason }: GetPermissionReasonResponse): ReasonName =>
  reasonNames[reason] ?? "forbidden"

const levels = ["instance", "org", "project", "grant"] as const

function RoleList({ rows }: { readonly rows: readonly Holding[] }) {
  if (rows.length === 0) return null
  const levelOf = (level: string) =>
    t(`why.level.${levels.find((each) => each === level) ?? "org"}`)
  return (
    <Table
      caption={t("why.holdings")}
      columns={[
        {
          label: t("why.where"),
          cell: ({ level, name, reaches }) => (
            <div className="call">
              <span>
                {levelOf(level)} <bdi>{name}</bdi>
              </span>
              {!reaches && <span className="quiet small">{t("why.out_of_reach")}</span>}
            </div>
          ),
        },
        { label: t("roles.title"), cell: ({ roles }) => <Badges words={[...roles]} /> },
        {
          label: t("why.granting"),
          cell: ({ grantingRoles }) => <Badges words={[...grantingRoles]} />,
        },
        { label: t("why.given_by"), cell: (row) => <GivenBy row={row} /> },
      ]}
      rows={rows}
      keyOf={({ level, id }) => `${level} ${id}`}
    />
  )
}

function GivenBy({ row: { givenBy, givenDate } }: { readonly row: Holding | EntryRoles }) {
  if (!givenBy) return null
  return (
    <div className="call">
      <bdi className="clip">{givenBy.displayName || givenBy.loginName || givenBy.userId}</bdi>
      <span className="quiet small">
        <Time at={givenDate} />
      </span>
    </div>
  )
}

function ApplicationAccess({ user: { userId } }: UserPart) {
  const [applicationId, setApplicationId] = useState("")
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const named = (name: string) => ({ case: "nameFilter", value: { name, method } }) as const
  return (
    <>
      <Picker
        label={t("why.application")}
        value={applicationId}
        onChange={setApplicationId}
        method={ApplicationService.method.listApplications}
        toRequest={(text) => ({
          pagination: { limit: 6 },
          filters: text ? [{ filter: named(text) }] : [],
        })}
        find={({ applications }) => applications}
        idOf={(application) => application.applicationId}
        show={({ name }) => name}
        autoFocus={false}
      />
      {applicationId && (
        <PagePart key={applicationId}>
          <ApplicationAccessReason userId={userId} applicationId={applicationId} />
        </PagePart>
      )}
    </>
  )
}

type ApplicationAccessProps = { readonly userId: string; readonly applicationId: string }

function ApplicationAccessReason({ userId, applicationId }: ApplicationAccessProps) {
  const { allowed, checks, roles } = useRead(getEntryReason, { userId, applicationId })
  return (
    <div className="stack" aria-live="polite">
      <Alert tone={allowed ? "done" : "warning"}>
        {t(allowed ? "why.entry.yes" : "why.entry.no")}
      </Alert>
      <ul className="value-list">
        {checks.map((check) => (
          <li key={check.condition}>{t(`why.check.${conditionText(check)}`)}</li>
        ))}
      </ul>
      {roles.length > 0 && (
        <Table
          caption={t("why.roles")}
          columns={[
            { label: t("roles.title"), cell: ({ roleKeys }) => <Badges words={[...roleKeys]} /> },
            {
              label: t("nav.organization"),
              cell: ({ organizationName, counts }) => (
                <div className="call">
                  <bdi className="clip">{organizationName}</bdi>
                  {!counts && <span className="quiet small">{t("why.counts_not")}</span>}
                </div>
              ),
            },
            { label: t("why.given_by"), cell: (row) => <GivenBy row={row} /> },
          ]}
          rows={roles}
          keyOf={({ authorizationId }) => authorizationId}
        />
      )}
    </div>
  )
}

type EntryConditionName = "user" | "application" | "project" | "roles" | "assigned" | "role"

const conditions: Readonly<Record<EntryCondition, EntryConditionName>> = {
  [EntryCondition.UNSPECIFIED]: "user",
  [EntryCondition.USER_ACTIVE]: "user",
  [EntryCondition.APPLICATION_ACTIVE]: "application",
  [EntryCondition.PROJECT_GRANTED]: "project",
  [EntryCondition.ROLES_GIVEN]: "roles",
  [EntryCondition.ASSIGNED]: "assigned",
  [EntryCondition.PROJECT_ROLE]: "role",
}

const conditionText = ({ condition, met }: EntryCheck) =>
  `${conditions[condition] ?? "user"}.${met ? "met" : "unmet"}` as const
