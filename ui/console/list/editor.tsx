import { Link, t } from "../shell/index.ts"

type EditorProps = {
  readonly userId?: string
  readonly displayName?: string
  readonly loginName?: string
}

/** Who did something; what the server does by itself bears the name of its part: setup. */
export function Editor({ userId = "", displayName = "", loginName = "" }: EditorProps) {
  const name = displayName || loginName
  if (name) {
    return (
      <Link to="/users/$userId" params={{ userId }}>
        <bdi className="clip">{name}</bdi>
      </Link>
    )
  }
  const isPart = /^[a-z-]+$/.test(userId)
  return (
    <span className="quiet clip">{isPart ? t("history.itself", { part: userId }) : userId}</span>
  )
}
