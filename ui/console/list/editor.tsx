import { Link, t } from "../shell/index.ts"

type EditorProps = {
  readonly userId?: string
  readonly displayName?: string
  readonly loginName?: string
}

/**
 * The author of a change; for automatic changes, the name of the server component, such as "setup".
 */
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
