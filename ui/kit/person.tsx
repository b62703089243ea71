type PersonProps = {
  readonly name: string
  readonly loginName: string
}

/** Who somebody is: initials, name, and the name they sign in with. */
export function Person({ name, loginName }: PersonProps) {
  return (
    <span className="person">
      <span className="avatar" aria-hidden="true">
        {initialsOf(name)}
      </span>
      <span className="person-text">
        <bdi className="person-name" title={name}>
          {name}
        </bdi>
        {loginName !== name && (
          <bdi className="person-login" title={loginName}>
            {loginName}
          </bdi>
        )}
      </span>
    </span>
  )
}

function initialsOf(name: string): string {
  const words = name.split(/[\s._@-]+/u).filter(Boolean)
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0]]
  return chosen
    .map((word) => [...(word ?? "")][0] ?? "")
    .join("")
    .toUpperCase()
}
