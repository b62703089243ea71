type SnippetProps = { readonly name: string; readonly text: string; readonly open?: boolean }

/** Text to copy, below its name. */
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
