type SnippetProps = { readonly name: string; readonly text: string; readonly open?: boolean }

/** Lines to read or to copy, below their name. */
export function Snippet({ name, text, open }: SnippetProps) {
  return (
    <details className="disclosure" open={open}>
      <summary>{name}</summary>
      <pre className="snippet">
        <code>{text}</code>
      </pre>
    </details>
  )
}
