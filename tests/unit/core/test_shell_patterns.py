"""What a pattern of a rule says about a command."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saying import answer

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell import Argv, having, matches, pattern, understand

PATTERNS = [
    ("git merge", "git merge", Answer.YES),
    ("git", "git log", Answer.YES),
    ("make deploy", "make ENV=prod deploy", Answer.YES),
    ("make deploy", "make test deploy", Answer.MAYBE),
    ("make deploy", "make -j 4 deploy", Answer.MAYBE),
    ("make deploy", "make deploy-docs ENV=deploy", Answer.NO),
    ("make deploy ENV=prod*", "make ENV=production deploy", Answer.YES),
    ("make deploy ENV=prod*", "make ENV=staging deploy", Answer.NO),
    ("make deploy ENV=prod*", 'make deploy ENV="$X"', Answer.MAYBE),
    ("mvn deploy", "mvn clean deploy -DskipTests", Answer.MAYBE),
    ("mvn deploy", "mvn clean install", Answer.NO),
    ("git push origin main", "git push origin main", Answer.YES),
    ("git push origin main", "git push --force origin main", Answer.YES),
    ("git push origin main", "git push origin dev", Answer.NO),
    ("git push origin main", "git push origin", Answer.NO),
    ("git push * main", "git push upstream main", Answer.YES),
    ("git push --force", "git push origin main --force", Answer.YES),
    ("git push --force", "git push -f", Answer.YES),
    ("git push --force", "git push -uf origin", Answer.YES),
    ("git push -f", "git push --force", Answer.YES),
    ("git push --force", "git push --force-with-lease", Answer.NO),
    ("git push --force*", "git push --force-with-lease=x", Answer.YES),
    ("git push --force", "git push --forc", Answer.MAYBE),
    ("git push --force", "git push -- --force", Answer.NO),
    ("git push --force", "git push -o --force", Answer.NO),
    ("git push --force", "git push --force --no-force", Answer.MAYBE),
    ("git push --force", "git push $X", Answer.MAYBE),
    ("git push --force", 'git push "$@"', Answer.MAYBE),
    ("git push --force", 'git push "--$X"', Answer.MAYBE),
    ("git push --force", 'git push -u origin "$BRANCH"', Answer.NO),
    ("git push --force", 'git push origin "$(git branch --show-current)"', Answer.NO),
    ("rm -rf", 'rm -r "$X"', Answer.NO),
    ("rm -rf", "rm -r $X", Answer.MAYBE),
    ("rm -rf", "rm -r -- $X", Answer.NO),
    ("rm -rf", 'rm -rf "$X"', Answer.YES),
    ("git push --force", "git push origin $X", Answer.MAYBE),
    ("git push --force", 'git push "origin/$X"', Answer.NO),
    ("git push --force", 'git push "--f$X"', Answer.MAYBE),
    ("git add --force", "git add *", Answer.NO),
    ("git merge", 'git -C "$X" merge', Answer.YES),
    ("git merge", "git -C $X merge", Answer.MAYBE),
    ("git pull --rebase", "git -C $X pull --rebase", Answer.MAYBE),
    ("git pull --rebase", "git pull --rebase=false", Answer.MAYBE),
    ("git pull --rebase", "git pull --rebase=merges", Answer.YES),
    ("git pull --rebase", "git pull -r", Answer.YES),
    ("git pull --rebase", "git pull --quiet --rebase", Answer.YES),
    ("git pull --rebase", "git pull -X --rebase", Answer.NO),
    ("git pull --ff-only", "git pull --ff-o", Answer.MAYBE),
    ("git commit --no-verify", "git commit -nm x", Answer.YES),
    ("git commit --no-verify", "git commit -m -n", Answer.NO),
    ("git commit --no-verify", "git commit -mn", Answer.NO),
    ("git branch -D main", "git branch -D main", Answer.YES),
    ("rm -rf", "rm -rf x", Answer.YES),
    ("rm -rf", "rm -fr x", Answer.YES),
    ("rm -rf", "rm -r -v -f x", Answer.YES),
    ("rm -rf", "rm -rvf x", Answer.YES),
    ("rm -rf", "rm x --recursive --force", Answer.YES),
    ("rm -rf", "rm -Rf x", Answer.YES),
    ("rm -rf", "rm -r x", Answer.NO),
    ("rm -rf", "rm -r $X", Answer.MAYBE),
    ("rm -rf /*", "rm -rf /etc", Answer.YES),
    ("rm -rf /*", "rm -rf ./etc", Answer.NO),
    ("kubectl delete -n prod", "kubectl delete pod x -n prod", Answer.YES),
    ("kubectl delete -n prod", "kubectl -nprod delete pod x", Answer.YES),
    ("kubectl delete -n prod", "kubectl --namespace prod delete pod", Answer.YES),
    ("kubectl delete -n prod", "kubectl delete pod --namespace=prod", Answer.YES),
    ("kubectl delete -n prod", "kubectl delete pod -n dev", Answer.NO),
    ("kubectl delete -n prod", "kubectl delete prod", Answer.NO),
    ("kubectl delete -n prod", "kubectl delete pod -n $NS", Answer.MAYBE),
    ("kubectl delete -n prod", 'kubectl delete pod -n "$NS"', Answer.MAYBE),
    ("kubectl delete --context=prod*", "kubectl --context prod-eu delete pod x", Answer.YES),
    ("kubectl delete --context=prod*", "kubectl --context=prod-eu delete pod x", Answer.YES),
    ("kubectl delete --context=prod*", "kubectl --context=dev delete pod x", Answer.NO),
    ("kubectl delete --context=prod*", 'kubectl "--context=$X" delete pod x', Answer.MAYBE),
    ("kubectl delete --context=prod*", 'kubectl "--context=dev$X" delete pod x', Answer.NO),
    ("kubectl delete", "kubectl --new x delete pod", Answer.MAYBE),
    ("docker push", "docker --context x push y", Answer.YES),
    ("systemctl stop nginx", "systemctl --no-pager -H host stop nginx", Answer.YES),
    ("terraform apply -auto-approve", "terraform -chdir=x apply -auto-approve", Answer.YES),
    ("terraform apply -auto-approve", "terraform apply --auto-approve", Answer.YES),
    ("terraform destroy", "terraform plan -destroy", Answer.NO),
    ("find -delete", "find . -name x -delete", Answer.YES),
    ("find -delete", "find . -name x -print", Answer.NO),
    ("foo bar", "foo -x bar", Answer.MAYBE),
    ("foo bar", "foo --x=1 bar", Answer.YES),
    ("foo -x bar", "foo -x bar", Answer.YES),
    ("foo --x=bar", "foo --x bar", Answer.YES),
    ("foo --x=bar", "foo --x baz", Answer.NO),
    ("foo -rf", "foo -fr", Answer.YES),
    ("mkfs*", "mkfs.ext4 /dev/x", Answer.YES),
    ("*", "anything", Answer.YES),
    ("* --force", "deploy --force", Answer.YES),
    ("./deploy.sh prod", "scripts/deploy.sh prod", Answer.YES),
    ("git 'merge'", "git merge", Answer.YES),
    ("npm run [dt]*", "npm run deploy", Answer.YES),
    ("npm run ?eploy", 'npm run "d$X"', Answer.MAYBE),
    ("npm run ?eploy", 'npm run "xy$X"', Answer.NO),
]


@pytest.mark.requirement("P4")
@pytest.mark.parametrize(("text", "line", "expected"), PATTERNS, ids=lambda value: str(value))
def test_patterns(text: str, line: str, expected: Answer) -> None:
    assert answer(text, line) == expected


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("--dry-run", "git push --dry-run", Answer.YES),
        ("--dry-run", "git push -n", Answer.YES),
        ("--dry-run", "git push", Answer.NO),
        ("--dry-run", "git push $X", Answer.MAYBE),
        ("-n prod", "kubectl get pod -n prod", Answer.YES),
        ("-n prod", "kubectl get pod --namespace=dev", Answer.NO),
        ("main", "git push origin main", Answer.YES),
        ("main", "git push origin mainline", Answer.NO),
        ("prod-*", "deploy --to x prod-eu", Answer.YES),
        ("--context=prod*", "kubectl delete --context prod1 pod", Answer.YES),
    ],
)
def test_options_and_words_that_a_command_has(text: str, line: str, expected: Answer) -> None:
    [argv] = understand(line).commands
    assert matches(having(text), argv) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("git 'merge", "cannot be read"),
        ("git merge | cat", "one command"),
        ("a && b", "one command"),
        ("git $X", "one command"),
        ("--force", "does not name a program"),
        ("x" * 2_000, "1000 characters"),
        ("a\0b", "NUL"),
    ],
)
def test_what_is_no_pattern_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pattern(text)


@given(
    st.text(alphabet="git -=*?[]!'\"ab/x", max_size=30), st.lists(st.text(alphabet="git-=abx", max_size=6), min_size=1)
)
@settings(max_examples=150, deadline=None)
def test_any_pattern_is_refused_or_answers(text: str, words: list[str]) -> None:
    try:
        made = pattern(text)
    except ValueError:
        return
    assert matches(made, Argv.of(words)) in Answer
