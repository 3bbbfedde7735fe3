//! The scripts of shells whose script is not clap's.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::Command;
use clap_complete::env::EnvCompleter;

/// A shell with a script of ours, whose answers are laid out as clap does.
pub(super) struct Own {
    name: &'static str,
    script: &'static str,
    answering: &'static dyn EnvCompleter,
}

/// bash, which also splits words at `:` and `=`. So `sim:usb` would reach the program as three words; here they are joined
/// first, and the part before the last of those signs is removed from the answers.
pub(super) const BASH: Own =
    Own { name: "bash", script: BASH_SCRIPT, answering: &clap_complete::env::Bash };

const BASH_SCRIPT: &str = r#"_drivescope() {
    local rest=$COMP_LINE word part words=() index
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        part=${rest#"${rest%%[![:space:]]*}"}
        if ((index > 0)) && [[ $part == "$rest" && -n $word ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${part#"$word"}
    done
    local whole=${words[-1]}
    # The word ends where the cursor is. Behind a sign nothing has been typed yet, and bash names the sign.
    [[ ${COMP_WORDS[COMP_CWORD]} == *[:=] ]] || whole=${whole%"${COMP_WORDS[COMP_CWORD]}"}$2
    words[-1]=$whole
    local before=${whole%"${whole##*[:=]}"} answers answer
    mapfile -t answers < <(_CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) _CLAP_IFS=$'\n' \
        VARIABLE=bash NAME -- "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for answer in "${answers[@]}"; do
        answer=${answer#"$before"}
        [[ $answer == *[[:space:]]* ]] && printf -v answer %q "$answer"
        [[ -n $answer ]] && COMPREPLY+=("$answer")
    done
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _drivescope BIN
"#;

/// zsh. clap's script completes nothing at the first Tab where it is loaded from `fpath`: the first call of a function
/// runs its file, and that one only defines another function. It also sets a space behind `depth=`.
pub(super) const ZSH: Own =
    Own { name: "zsh", script: ZSH_SCRIPT, answering: &clap_complete::env::Zsh };

const ZSH_SCRIPT: &str = r#"#compdef BIN
_drivescope() {
    local -a answers open closed open_words closed_words
    local answer value word
    answers=("${(@f)$(_CLAP_COMPLETE_INDEX=$((CURRENT - 1)) _CLAP_IFS=$'\n' \
        VARIABLE=zsh NAME -- "${(Q@)words}" 2>/dev/null)}")
    for answer in $answers; do
        # What stands before the first colon without a backslash is the value, and the rest says what it is.
        value=${answer//\\:/$'\0'}
        value=${${value%%:*}//$'\0'/:}
        value=${value//\\\\/\\}
        # Quoted as a whole, ~ would be a name like any other.
        case $value in
            '~/'*) word="~/${(q)value#\~/}" ;;
            *) word=${(q)value} ;;
        esac
        word=${${word//\\/\\\\}//:/\\:}
        if [[ $value == *[=/:] ]]; then
            open+=("$answer") open_words+=("$word")
        else
            closed+=("$answer") closed_words+=("$word")
        fi
    done
    # Behind these the word goes on.
    (($#open)) && _describe -V values open open_words -Q -S ''
    (($#closed)) && _describe -V values closed closed_words -Q
}

# In a file that fpath has, this is a part of the function at its first call; in a script that is read, it is not.
if [[ ${funcstack[1]} == _drivescope ]]; then
    _drivescope "$@"
else
    compdef _drivescope BIN
fi
"#;

impl EnvCompleter for Own {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is(&self, name: &str) -> bool {
        name == self.name
    }

    fn write_registration(
        &self,
        variable: &str,
        _: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let script = self.script.replace("VARIABLE", variable).replace("NAME", completer);
        out.write_all(script.replace("BIN", bin).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        arguments: Vec<OsString>,
        here: Option<&Path>,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        self.answering.write_complete(command, arguments, here, out)
    }
}
