# Completion of leaderrun for PowerShell 5 and later. It asks the leaderrun on the command
# line for the candidates. If that one is too old or too new for the question, nothing is
# completed.
#
# In $PROFILE: leaderrun completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName 'leaderrun' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # The words before the cursor, the one under it, and where each begins.
    $words = @()
    $cursor = ''
    $raw = ''
    $starts = @()
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        $extent = $element.Extent
        if ($extent.StartOffset -ge $cursorPosition) { break }
        $text = $extent.Text
        if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $text = $element.Value }
        $starts += $extent.StartOffset
        if ($extent.EndOffset -ge $cursorPosition) {
            $raw = $extent.Text.Substring(0, $cursorPosition - $extent.StartOffset)
            $cursor = $raw.Trim('"', "'")
            break
        }
        $words += $text
    }

    $program = $commandAst.GetCommandName()
    $status = $global:LASTEXITCODE
    try {
        $lines = @(& $program 'completion' "--cursor=$cursor" '--' @words 2>$null)
        if ($LASTEXITCODE -ne 0 -or $lines.Count -eq 0) { return '' }
    } catch {
        return ''
    } finally {
        $global:LASTEXITCODE = $status
    }
    $kind, $what = $lines[0].Split(' ', 2)

    # Quote what is not a plain word in PowerShell. If we return nothing, PowerShell
    # completes files; an empty text prevents that.
    $results = @(foreach ($line in ($lines | Select-Object -Skip 1)) {
        $word, $text = $line.Split("`t", 2)
        if ($kind -eq 'words') { $word = $what + $word }
        if (-not $text) { $text = $word }
        $typed = $word
        if ($word -match '[^\w./:=+-]') { $typed = "'" + $word.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($typed, $word, 'ParameterValue', $text)
    })
    switch ($kind) {
        'words' { }
        'files' {
            if ($what -eq '') { return }
            $part = $cursor.Substring([Math]::Min($what.Length, $cursor.Length))
            $results = @([System.Management.Automation.CompletionCompleters]::CompleteFilename($part) | ForEach-Object {
                [System.Management.Automation.CompletionResult]::new($what + $_.CompletionText, $_.ListItemText, $_.ResultType, $_.ToolTip)
            })
        }
        'command' {
            $first = [int]$what
            if ($first -lt $starts.Count) {
                # The line from that word up to the cursor.
                $extent = $commandAst.Extent
                $begin = $starts[$first] - $extent.StartOffset
                $rest = $extent.Text.Substring($begin, [Math]::Min($extent.Text.Length, $cursorPosition - $extent.StartOffset) - $begin)
                if ($raw -eq '') { $rest += ' ' }
                $results += [System.Management.Automation.CommandCompletion]::CompleteInput($rest, $rest.Length, $null).CompletionMatches
            }
        }
        default { $results = @() }
    }
    if ($results.Count -eq 0) { return '' }
    $results
}
