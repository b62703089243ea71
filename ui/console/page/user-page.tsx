import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { ActionButton, DeleteButton } from "../confirm.tsx"
import { Copyable, Detail, Section } from "../detail.tsx"
import { useHouse } from "../house.ts"
import { type Changed, useLoad } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { go } from "../route.ts"
import { ServiceKeys } from "../service-keys.tsx"
import { ServiceSecret } from "../service-secret.tsx"
import { ServiceTokenType } from "../service-token-type.tsx"
import { ServiceTokens } from "../service-tokens.tsx"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"
import { nameOf, stateOf } from "../user.ts"

export function UserPage({ userId }: { readonly userId: string }) {
  const { t, core } = useHouse()
  const crumbs = [{ label: t("nav.users"), to: { page: "users" } as const }]
  const loaded = useLoad(`user ${userId}`, "", async (signal) => {
    const { user } = await core.users.getUserByID({ userId }, { signal })
    if (!user) throw new Error(t("detail.failed"))
    return user
  })
  return (
    <Detail loaded={loaded} crumbs={crumbs}>
      {(user) => (
        <PageFrame
          title={nameOf(user)}
          crumbs={crumbs}
          badge={<State user={user} />}
          actions={<Turns user={user} onChanged={loaded.reload} />}
        >
          <Facts user={user} />
          <Credentials user={user} onChanged={loaded.reload} />
          <Remove user={user} />
        </PageFrame>
      )}
    </Detail>
  )
}

function State({ user }: { readonly user: User }) {
  const { t } = useHouse()
  return (
    <>
      <Badge>{t(user.type.case === "machine" ? "kind.service" : "kind.person")}</Badge>
      <StateBadge state={stateOf(user)} />
    </>
  )
}

/** What a service user proves itself with, from the safest to the simplest. */
function Credentials({ user, onChanged }: TurnsProps) {
  const { userId, username, type } = user
  if (type.case !== "machine") return null
  return (
    <>
      <ServiceKeys userId={userId} />
      <ServiceSecret {...{ userId, username, machine: type.value, onChanged }} />
      <ServiceTokens userId={userId} />
      <ServiceTokenType {...{ userId, type: type.value.accessTokenType, onChanged }} />
    </>
  )
}

type TurnsProps = { readonly user: User; readonly onChanged: Changed }

/** What can be undone again: locking out, switching off. */
function Turns({ user, onChanged }: TurnsProps) {
  const { t, core, signedIn } = useHouse()
  const { userId } = user
  const state = stateOf(user)
  if (userId === signedIn.person.id) return <Badge>{t("users.yourself")}</Badge>
  const then = (call: (wanted: { userId: string }) => Promise<unknown>) => async () => {
    await call({ userId })
    await onChanged()
  }
  if (state === "locked") {
    return <ActionButton label={t("users.unlock")} act={then(core.users.unlockUser)} />
  }
  if (state === "inactive") {
    return <ActionButton label={t("action.activate")} act={then(core.users.reactivateUser)} />
  }
  return (
    <>
      <ActionButton label={t("users.lock")} act={then(core.users.lockUser)} />
      <ActionButton label={t("action.deactivate")} act={then(core.users.deactivateUser)} />
    </>
  )
}

function Facts({ user }: { readonly user: User }) {
  const { t } = useHouse()
  const { userId, details, loginNames, type } = user
  return (
    <Section title={t("detail.about")}>
      <dl className="facts">
        {type.case === "human" && <PersonFacts user={user} email={type.value.email?.email ?? ""} />}
        {type.case === "machine" && type.value.description && (
          <>
            <dt>{t("field.description")}</dt>
            <dd>{type.value.description}</dd>
          </>
        )}
        <dt>{t("field.login_names")}</dt>
        <dd>
          <ul className="value-list">
            {loginNames.map((loginName) => (
              <li key={loginName}>{loginName}</li>
            ))}
          </ul>
        </dd>
        <dt>{t("field.user_id")}</dt>
        <dd>
          <Copyable value={userId} what={t("field.user_id")} />
        </dd>
        <dt>{t("field.created")}</dt>
        <dd>
          <Time at={details?.creationDate} />
        </dd>
        <dt>{t("field.changed")}</dt>
        <dd>
          <Time at={details?.changeDate} />
        </dd>
      </dl>
    </Section>
  )
}

function PersonFacts({ user, email }: { readonly user: User; readonly email: string }) {
  const { t } = useHouse()
  if (user.type.case !== "human") return null
  const { profile, email: held } = user.type.value
  return (
    <>
      <dt>{t("field.name")}</dt>
      <dd>
        {profile?.givenName} {profile?.familyName}
      </dd>
      <dt>{t("field.email")}</dt>
      <dd>
        <bdi>{email}</bdi>
        <Badge tone={held?.isVerified ? "done" : "quiet"}>
          {t(held?.isVerified ? "users.verified" : "users.not_verified")}
        </Badge>
      </dd>
    </>
  )
}

function Remove({ user }: { readonly user: User }) {
  const { t, core, signedIn } = useHouse()
  const { userId } = user
  if (userId === signedIn.person.id) return null
  const act = async () => {
    await core.users.deleteUser({ userId })
    go({ page: "users" }, "replace")
  }
  return (
    <Section title={t("delete.section")}>
      <p className="quiet">{t("users.delete_text")}</p>
      <div className="row">
        <DeleteButton
          name={nameOf(user)}
          title={t("users.delete")}
          consequence={t("users.delete_text")}
          act={act}
        />
      </div>
    </Section>
  )
}
