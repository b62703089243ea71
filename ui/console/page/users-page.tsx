import { useState } from "react"
import { Type, type User, UserFieldName, UserState } from "../../../src/gen/core/user/v2/user_pb.ts"
import { Chips } from "../../kit/choice.tsx"
import { EmptyState } from "../../kit/empty-state.tsx"
import type { Column } from "../../kit/table.tsx"
import { type House, useHouse } from "../house.ts"
import { Link, LinkButton } from "../link.tsx"
import { type Asked, Listing } from "../listing.tsx"
import { PageFrame } from "../page-frame.tsx"
import { namedLike } from "../search.tsx"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"
import { loginNameOf, nameOf, stateOf } from "../user.ts"

const filterNames = ["all", "people", "service_users", "inactive", "locked"] as const
type FilterName = (typeof filterNames)[number]

export function UsersPage() {
  const house = useHouse()
  const { t, organization } = house
  const [chosen, setChosen] = useState<FilterName>("all")
  const create = (
    <LinkButton kind="primary" to={{ page: "new-user" }}>
      {t("users.create")}
    </LinkButton>
  )
  const filters = (
    <Chips
      legend={t("list.filter")}
      name="users"
      options={filterNames.map((value) => ({ value, label: t(`filter.${value}`) }))}
      value={chosen}
      onChange={setChosen}
    />
  )
  const empty = (
    <EmptyState title={t("users.empty.title")} action={create}>
      {t("users.empty.text")}
    </EmptyState>
  )
  return (
    <PageFrame title={t("nav.users")} actions={create}>
      <Listing
        caption={t("nav.users")}
        scope={`${organization.id} ${chosen}`}
        read={(asked, signal) => readUsers(house, { ...asked, chosen }, signal)}
        columns={columnsOf(house)}
        keyOf={(user) => user.userId}
        filters={filters}
        filtered={chosen !== "all"}
        empty={empty}
      />
    </PageFrame>
  )
}

type Wanted = Asked & { readonly chosen: FilterName }

async function readUsers({ core, organization }: House, wanted: Wanted, signal: AbortSignal) {
  const { text, offset, limit, chosen } = wanted
  const own = { organizationId: organization.id }
  const queries = [
    { query: { case: "organizationIdQuery", value: own } as const },
    ...queriesOf(chosen),
    ...(text ? [namedLike(text)] : []),
  ]
  const sortingColumn = UserFieldName.DISPLAY_NAME
  const request = { query: { offset, limit, asc: true }, sortingColumn, queries }
  const { result, details } = await core.users.listUsers(request, { signal })
  return { rows: result, total: Number(details?.totalResult ?? result.length) }
}

function queriesOf(chosen: FilterName) {
  switch (chosen) {
    case "all":
      return []
    case "people":
      return [{ query: { case: "typeQuery", value: { type: Type.HUMAN } } as const }]
    case "service_users":
      return [{ query: { case: "typeQuery", value: { type: Type.MACHINE } } as const }]
    case "inactive":
      return [{ query: { case: "stateQuery", value: { state: UserState.INACTIVE } } as const }]
    case "locked":
      return [{ query: { case: "stateQuery", value: { state: UserState.LOCKED } } as const }]
  }
}

function LoginName({ name }: { readonly name: string }) {
  return (
    <bdi className="clip" title={name}>
      {name}
    </bdi>
  )
}

const columnsOf = ({ t }: House): readonly Column<User>[] => [
  {
    label: t("field.name"),
    cell: (user) => (
      <Link className="row-link" to={{ page: "user", userId: user.userId }}>
        {nameOf(user)}
      </Link>
    ),
  },
  { label: t("field.login_name"), cell: (user) => <LoginName name={loginNameOf(user)} /> },
  {
    label: t("field.kind"),
    cell: (user) => t(user.type.case === "machine" ? "kind.service" : "kind.person"),
  },
  { label: t("field.state"), cell: (user) => <StateBadge state={stateOf(user)} /> },
  { label: t("field.changed"), cell: ({ details }) => <Time at={details?.changeDate} /> },
]
